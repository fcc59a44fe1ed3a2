import { describe, expect, test, vi } from 'vitest';
import { PAGE_ROWS } from './page-rows.ts';
import { FoundRows, type LoadRows, PlacedRows } from './row-pages.ts';

interface Row {
  seq: number;
  text: string;
}

/** A fake server with this many rows, some of which match. Answers hold at most `most` rows. */
function server(total: number, options: { fits?: (seq: number) => boolean; most?: number } = {}) {
  const { fits = () => true, most = 1000 } = options;
  const asked: number[] = [];
  const aborted: number[] = [];
  let version = 1;
  const load: LoadRows<Row> = async ({ fromSeq, after, pageSize }, signal) => {
    const from = after === undefined ? (fromSeq ?? 0) : Number(after);
    asked.push(from);
    signal.addEventListener('abort', () => aborted.push(from));
    await Promise.resolve();
    const items: Row[] = [];
    let seq = from;
    for (; seq < total && items.length < Math.min(pageSize, most); seq += 1)
      if (fits(seq)) items.push({ seq, text: `row ${seq} v${version}` });
    return { items, next: seq < total ? String(seq) : null };
  };
  return { load, asked, aborted, change: () => (version += 1) };
}

const settled = (pages: { isLoading: boolean }) =>
  vi.waitUntil(() => !pages.isLoading, { interval: 1, timeout: 45_000 });

describe('all rows of a job', () => {
  test('in the middle and at the end are one request away', async () => {
    const { load, asked } = server(1_000_000);
    const pages = new PlacedRows(load, 1_000_000);
    pages.want(500_010, 500_040);
    await settled(pages);
    expect(pages.row(500_010)?.text).toBe('row 500010 v1');
    pages.want(999_970, 1_000_000);
    await settled(pages);
    expect(pages.row(999_999)?.seq).toBe(999_999);
    expect(asked).toEqual([500_000, 999_900]);
  });

  test('are kept in a bounded number of pages, and fetched again when they are gone', async () => {
    const { load, asked } = server(1_000_000);
    const pages = new PlacedRows(load, 1_000_000);
    for (let first = 0; first < 100; first += 1) {
      pages.want(first * PAGE_ROWS, first * PAGE_ROWS + 30);
      await settled(pages);
    }
    expect(pages.pageCount).toBeLessThanOrEqual(24);
    expect(pages.row(0)).toBeUndefined();
    pages.want(0, 30);
    await settled(pages);
    expect(pages.row(0)?.seq).toBe(0);
    expect(asked.length).toBe(101);
  });

  test('that were scrolled past are aborted', async () => {
    const { load, aborted } = server(1_000_000);
    const pages = new PlacedRows(load, 1_000_000);
    pages.want(0, 30);
    pages.want(700_000, 700_030);
    await settled(pages);
    expect(aborted).toEqual([0]);
    expect(pages.row(0)).toBeUndefined();
    expect(pages.row(700_000)?.seq).toBe(700_000);
  });

  test('that are large arrive in several answers', async () => {
    const { load, asked } = server(250, { most: 40 });
    const pages = new PlacedRows(load, 250);
    pages.want(0, 30);
    await settled(pages);
    expect(asked).toEqual([0, 40, 80]);
    expect(pages.row(99)?.seq).toBe(99);
  });

  test('stay visible while they are refetched', async () => {
    const { load, change } = server(500);
    const pages = new PlacedRows(load, 500);
    pages.want(0, 30);
    await settled(pages);
    change();
    pages.refresh();
    expect(pages.row(3)?.text).toBe('row 3 v1');
    await settled(pages);
    expect(pages.row(3)?.text).toBe('row 3 v2');
  });

  test('that are known but may have changed are shown and requested', async () => {
    const { load, asked, change } = server(500);
    const known = (await load({ fromSeq: 0, pageSize: PAGE_ROWS }, new AbortController().signal)).items;
    asked.length = 0;
    change();
    const pages = new PlacedRows(load, 500, known, true);
    expect(pages.row(99)?.text).toBe('row 99 v1');
    pages.want(0, 30);
    await settled(pages);
    expect(asked).toEqual([0]);
    expect(pages.row(99)?.text).toBe('row 99 v2');
  });

  test('that change during their first request are requested again', async () => {
    const { load, asked } = server(500);
    const pages = new PlacedRows(load, 500);
    pages.want(0, 30);
    pages.refresh();
    await settled(pages);
    expect(asked).toEqual([0, 0]);
  });

  test('that are known are not requested before they are stale', async () => {
    const { load, asked, change } = server(500);
    const known = (await load({ fromSeq: 0, pageSize: PAGE_ROWS }, new AbortController().signal)).items;
    asked.length = 0;
    const pages = new PlacedRows(load, 500, known);
    expect(pages.row(99)?.text).toBe('row 99 v1');
    pages.want(0, 30);
    await settled(pages);
    expect(asked).toEqual([]);
    change();
    pages.refresh();
    await settled(pages);
    expect(asked).toEqual([0]);
    expect(pages.row(99)?.text).toBe('row 99 v2');
  });

  test('of an incomplete page are requested', async () => {
    const { load, asked } = server(500, { most: 40 });
    const known = (await load({ fromSeq: 0, pageSize: PAGE_ROWS }, new AbortController().signal)).items;
    asked.length = 0;
    const pages = new PlacedRows(load, 500, known);
    pages.want(0, 30);
    await settled(pages);
    expect(asked).toEqual([0, 40, 80]);
    expect(pages.row(99)?.seq).toBe(99);
  });

  test('that arrive refetch the last page', async () => {
    const { load, asked } = server(180);
    const pages = new PlacedRows(load, 120);
    pages.want(100, 120);
    await settled(pages);
    pages.grow(180);
    pages.want(100, 130);
    await settled(pages);
    expect(asked).toEqual([100, 100]);
    expect(pages.row(179)?.seq).toBe(179);
  });

  test('that failed to load are requested again only on retry', async () => {
    let fails = true;
    const load = vi.fn<LoadRows<Row>>(async () => {
      if (fails) throw new Error('no answer');
      return { items: [{ seq: 0, text: '' }], next: null };
    });
    const pages = new PlacedRows(load, 1);
    pages.want(0, 1);
    await settled(pages);
    expect((pages.error as Error).message).toBe('no answer');
    pages.want(0, 1);
    expect(load).toHaveBeenCalledTimes(1);
    fails = false;
    pages.retry();
    await settled(pages);
    expect(pages.error).toBeNull();
    expect(pages.row(0)?.seq).toBe(0);
  });
});

describe('rows that match a filter', () => {
  const third = (seq: number) => seq % 3 === 0;

  test('are found page by page', async () => {
    const { load } = server(1000, { fits: third });
    const pages = new FoundRows(load);
    pages.want(0, 30);
    await settled(pages);
    expect([pages.count, pages.hasMore]).toEqual([100, true]);
    expect(pages.row(10)?.seq).toBe(30);
    pages.want(80, 100);
    await settled(pages);
    pages.want(180, 200);
    await settled(pages);
    pages.want(280, 300);
    await settled(pages);
    expect([pages.count, pages.hasMore]).toEqual([334, false]);
    expect(pages.seqAt(333)).toBe(999);
  });

  test('are searched further while answers hold none', async () => {
    const asked: (string | undefined)[] = [];
    const load: LoadRows<Row> = async ({ after }) => {
      asked.push(after);
      if (after === '2') return { items: [{ seq: 77, text: '' }], next: null };
      return { items: [], next: String(Number(after ?? 0) + 1) };
    };
    const pages = new FoundRows(load);
    pages.want(0, 30);
    await vi.waitUntil(() => !pages.hasMore, { interval: 1, timeout: 45_000 });
    expect(asked).toEqual([undefined, '1', '2']);
    expect(pages.row(0)?.seq).toBe(77);
  });

  test('are no longer searched after a stop, until the search is resumed', async () => {
    let answer: (() => void) | undefined;
    const load: LoadRows<Row> = ({ after }, signal) =>
      new Promise((resolve, reject) => {
        const at = Number(after ?? 0) + 1;
        signal.addEventListener('abort', () => reject(new Error('stopped')));
        answer = () => resolve({ items: [], next: at === 5 ? null : String(at), looked: at * 100 });
      });
    const pages = new FoundRows(load);
    const looked = async (count: number) => {
      answer!();
      await vi.waitUntil(() => pages.looked === count, { interval: 1, timeout: 45_000 });
    };
    pages.want(0, 30);
    await looked(100);
    await looked(200);
    pages.halt();
    expect([pages.isHalted, pages.isLoading, pages.hasMore, pages.looked]).toEqual([true, false, true, 200]);
    pages.want(0, 20);
    expect([pages.isLoading, pages.error]).toEqual([false, null]);
    pages.goOn();
    expect(pages.isLoading).toBe(true);
    await looked(300);
    await looked(400);
    await looked(500);
    expect([pages.hasMore, pages.count]).toEqual([false, 0]);
  });

  test('keep their numbers when they are dropped from the cache', async () => {
    const { load } = server(100_000);
    const pages = new FoundRows(load);
    for (let page = 0; page < 40; page += 1) {
      pages.want(page * PAGE_ROWS, page * PAGE_ROWS + PAGE_ROWS);
      await settled(pages);
    }
    expect(pages.row(0)).toBeUndefined();
    expect(pages.seqAt(5)).toBe(5);
    pages.want(0, 30);
    await settled(pages);
    expect(pages.row(5)?.seq).toBe(5);
    expect(pages.count).toBeGreaterThanOrEqual(4000);
  });

  test('are found up to a place that is not visible, which knows its row and the other way round', async () => {
    const { load, asked } = server(1000, { fits: (seq) => seq % 2 === 0 });
    const pages = new FoundRows(load);
    pages.want(0, 30);
    await settled(pages);
    expect([pages.placeOf(20), pages.placeOf(21), pages.placeOf(300)]).toEqual([10, undefined, undefined]);
    pages.reach(150);
    await settled(pages);
    expect([pages.placeOf(300), pages.seqAt(151)]).toEqual([150, 302]);
    expect(asked).toHaveLength(2);
    pages.reach(20);
    pages.want(0, 30);
    await settled(pages);
    expect(asked).toHaveLength(2);
  });

  test('are recounted when fewer of them match than before', async () => {
    const gone = new Set<number>();
    const { load } = server(400, { fits: (seq) => !gone.has(seq) });
    const pages = new FoundRows(load);
    pages.want(0, 350);
    await vi.waitUntil(() => !pages.hasMore, { interval: 1, timeout: 45_000 });
    expect(pages.count).toBe(400);
    for (let seq = 0; seq < 50; seq += 1) gone.add(seq);
    pages.want(0, 30);
    pages.refresh();
    await settled(pages);
    expect(pages.row(0)?.seq).toBe(50);
    pages.want(0, 350);
    await vi.waitUntil(() => !pages.hasMore, { interval: 1, timeout: 45_000 });
    expect(pages.count).toBe(350);
  });

  test('are found when none matched before', async () => {
    const fitting = new Set<number>();
    const { load } = server(400, { fits: (seq) => fitting.has(seq) });
    const pages = new FoundRows(load);
    pages.want(0, 30);
    await settled(pages);
    expect([pages.count, pages.hasMore]).toEqual([0, false]);
    fitting.add(7);
    pages.refresh();
    await settled(pages);
    expect([pages.count, pages.row(0)?.seq]).toEqual([1, 7]);
  });
});
