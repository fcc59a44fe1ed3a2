// The rows of a grid, fetched by the page as they are scrolled to. Without a filter a row's place is its number, and any
// place is one request away; with a filter pages follow from the ones before, and what they hold is counted on the way.
import { PageCache } from './page-cache.ts';
import { PAGE_ROWS } from './page-rows.ts';

export interface NumberedRow {
  seq: number;
}

export interface RowsAnswer<Row> {
  items: readonly Row[];
  next: string | null;
  /** Rows of the job that were looked at up to here. */
  looked?: number;
}

/** One request for a page of rows: from a number, behind a page, or from the beginning. */
export type LoadRows<Row> = (
  from: { fromSeq?: number; after?: string; pageSize: number },
  signal: AbortSignal,
) => Promise<RowsAnswer<Row>>;

export interface RowPages<Row extends NumberedRow> {
  /** Rows that there are; with a filter those that were found so far. */
  readonly count: number;
  /** There may be more than these. */
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
  /** Rows that were looked at to find these; null: they are not looked for. */
  readonly looked: number | null;
  /** Somebody stopped the search. */
  readonly isHalted: boolean;
  halt(): void;
  goOn(): void;
  row(place: number): Row | undefined;
  /** The number of the row in a place, also when the row itself is not kept. */
  seqAt(place: number): number | undefined;
  /** Rows from `first` up to, without, `end` are seen. */
  want(first: number, end: number): void;
  refresh(): void;
  retry(): void;
  stop(): void;
  subscribe(listener: () => void): () => void;
  /** Rises with every change. */
  readonly version: number;
}

const MAX_PAGES = 24;
const MAX_LOADING = 3;
/** Rows before the end at which the next page is fetched. */
const AHEAD_ROWS = 40;

abstract class Watched {
  version = 0;
  readonly #listeners = new Set<() => void>();

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  protected changed(): void {
    this.version += 1;
    for (const listener of this.#listeners) listener();
  }
}

/** All rows of a job: the place of a row is its number. */
export class PlacedRows<Row extends NumberedRow> extends Watched implements RowPages<Row> {
  count: number;
  readonly hasMore = false;
  readonly looked = null;
  readonly isHalted = false;
  readonly #cache: PageCache<ReadonlyMap<number, Row>>;

  /** `first`: rows from the first on that are known already. */
  constructor(load: LoadRows<Row>, count: number, first: readonly Row[] = []) {
    super();
    this.count = count;
    this.#cache = new PageCache({
      load: (key, signal) => this.#loadPage(load, key, signal),
      onChange: () => this.changed(),
      maxPages: MAX_PAGES,
      maxLoading: MAX_LOADING,
    });
    // Part of a page is no page.
    if (first.length > 0 && first.length >= Math.min(PAGE_ROWS, count))
      this.#cache.put(0, new Map(first.slice(0, PAGE_ROWS).map((row) => [row.seq, row])));
  }

  get isLoading(): boolean {
    return this.#cache.isLoading;
  }

  get error(): unknown {
    return this.#cache.error;
  }

  /** Nothing is looked for: any row is one request away. */
  halt(): void {}
  goOn(): void {}

  /** Pages kept, for those who bound them. */
  get pageCount(): number {
    return this.#cache.size;
  }

  row(place: number): Row | undefined {
    return this.#cache.get(Math.floor(place / PAGE_ROWS))?.get(place);
  }

  seqAt(place: number): number | undefined {
    return place < this.count ? place : undefined;
  }

  want(first: number, end: number): void {
    const keys: number[] = [];
    const last = Math.min(end, this.count) - 1;
    for (let key = Math.floor(first / PAGE_ROWS); key * PAGE_ROWS <= last; key += 1) keys.push(key);
    this.#cache.want(keys);
  }

  /** More rows came in: the page that was the last one has more of them. */
  grow(count: number): void {
    if (count === this.count) return;
    const lastPage = Math.floor(Math.min(count, this.count) / PAGE_ROWS);
    this.count = count;
    this.#cache.markPageStale(lastPage);
    this.changed();
  }

  refresh(): void {
    this.#cache.markStale();
  }

  retry(): void {
    this.#cache.retry();
  }

  stop(): void {
    this.#cache.stop();
  }

  /** An answer may be cut short because its rows are large; then the rest is asked for. */
  async #loadPage(load: LoadRows<Row>, key: number, signal: AbortSignal): Promise<ReadonlyMap<number, Row>> {
    const rows = new Map<number, Row>();
    const end = (key + 1) * PAGE_ROWS;
    let fromSeq = key * PAGE_ROWS;
    while (fromSeq < end) {
      const { items, next } = await load({ fromSeq, pageSize: end - fromSeq }, signal);
      for (const row of items) rows.set(row.seq, row);
      const last = items.at(-1);
      if (next === null || !last) break;
      fromSeq = last.seq + 1;
    }
    return rows;
  }
}

interface Stretch {
  /** Where it begins; undefined: at the beginning. */
  after: string | undefined;
  /** Numbers of its rows, kept when the rows themselves are not. */
  seqs: readonly number[];
  next: string | null;
  /** Place of its first row. */
  place: number;
  looked: number;
}

/** Rows that fit a filter, in order. How many there are is known at the end. */
export class FoundRows<Row extends NumberedRow> extends Watched implements RowPages<Row> {
  #stretches: Stretch[] = [];
  #seen: [number, number] = [0, 0];
  #isHalted = false;
  readonly #cache: PageCache<readonly Row[]>;

  constructor(load: LoadRows<Row>) {
    super();
    this.#cache = new PageCache({
      load: async (key, signal) => {
        const after = key === 0 ? undefined : (this.#stretches[key - 1]?.next ?? undefined);
        const answer = await load({ ...(after !== undefined && { after }), pageSize: PAGE_ROWS }, signal);
        if (!signal.aborted) this.#place(key, after, answer);
        return answer.items;
      },
      onChange: () => {
        this.changed();
        // A page may have brought nothing that is seen.
        this.want(...this.#seen);
      },
      maxPages: MAX_PAGES,
      maxLoading: 1,
    });
  }

  get count(): number {
    const last = this.#stretches.at(-1);
    return last ? last.place + last.seqs.length : 0;
  }

  get looked(): number {
    return this.#stretches.at(-1)?.looked ?? 0;
  }

  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** What was found stays. */
  halt(): void {
    this.#isHalted = true;
    this.want(...this.#seen);
    this.changed();
  }

  goOn(): void {
    this.#isHalted = false;
    this.want(...this.#seen);
    this.changed();
  }

  get hasMore(): boolean {
    const last = this.#stretches.at(-1);
    return !last || last.next !== null;
  }

  get isLoading(): boolean {
    return this.#cache.isLoading;
  }

  get error(): unknown {
    return this.#cache.error;
  }

  row(place: number): Row | undefined {
    const key = this.#stretchOf(place);
    return key === -1 ? undefined : this.#cache.get(key)?.[place - this.#stretches[key]!.place];
  }

  seqAt(place: number): number | undefined {
    const key = this.#stretchOf(place);
    return key === -1 ? undefined : this.#stretches[key]!.seqs[place - this.#stretches[key]!.place];
  }

  want(first: number, end: number): void {
    this.#seen = [first, end];
    const keys: number[] = [];
    this.#stretches.forEach(({ place, seqs }, key) => {
      if (place < end && place + seqs.length > first) keys.push(key);
    });
    if (this.hasMore && !this.#isHalted && end + AHEAD_ROWS >= this.count) keys.push(this.#stretches.length);
    // Nothing was found; something may fit by now.
    if (keys.length === 0 && this.count === 0) keys.push(...this.#stretches.slice(0, MAX_PAGES).keys());
    this.#cache.want(keys);
  }

  refresh(): void {
    this.#cache.markStale();
    this.want(...this.#seen);
  }

  retry(): void {
    this.#cache.retry();
  }

  stop(): void {
    this.#cache.stop();
  }

  /** Other rows may fit by now: what was behind another end than before is found anew. */
  #place(key: number, after: string | undefined, { items, next, looked = 0 }: RowsAnswer<Row>): void {
    const before = this.#stretches[key - 1];
    const old = this.#stretches[key];
    const place = before ? before.place + before.seqs.length : 0;
    const stretch = { after, seqs: items.map(({ seq }) => seq), next, place, looked };
    if (old && (old.next !== next || old.seqs.length !== items.length)) {
      this.#stretches.length = key;
      this.#cache.dropFrom(key + 1);
    }
    this.#stretches[key] = stretch;
  }

  #stretchOf(place: number): number {
    return this.#stretches.findIndex((each) => place >= each.place && place < each.place + each.seqs.length);
  }
}
