// The rows of a grid, loaded in pages as the user scrolls. Without a filter a row's place is its number, and any place
// is one request away; with a filter each page follows from the previous one, and rows are counted on the way.
import { PageCache } from './page-cache.ts';
import { PAGE_ROWS } from './page-rows.ts';

export interface NumberedRow {
  seq: number;
}

export interface RowsAnswer<Row> {
  items: readonly Row[];
  next: string | null;
  /** Rows searched so far. */
  looked?: number;
  /** The row whose key is the searched text; known before the search reaches it. */
  keyMatch?: number | null | undefined;
}

/** Loads a page of rows: from a number, after a cursor, or from the start. */
export type LoadRows<Row> = (
  from: { fromSeq?: number; after?: string; pageSize: number },
  signal: AbortSignal,
) => Promise<RowsAnswer<Row>>;

export interface RowPages<Row extends NumberedRow> {
  /** Number of rows; with a filter, those found so far. */
  readonly count: number;
  /** More rows may follow. */
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly error: unknown;
  /** Rows searched so far. Null: no search is needed. */
  readonly looked: number | null;
  /** The row whose key is the searched text, if there is one. */
  readonly keyMatch: number | null;
  /** The user stopped the search. */
  readonly isHalted: boolean;
  halt(): void;
  goOn(): void;
  row(place: number): Row | undefined;
  /** The number of the row at a place, even if the row is not cached. */
  seqAt(place: number): number | undefined;
  /** Rows from `first` to `end`, exclusive, are visible. */
  want(first: number, end: number): void;
  refresh(): void;
  retry(): void;
  stop(): void;
  subscribe(listener: () => void): () => void;
  /** Incremented with every change. */
  readonly version: number;
}

const MAX_PAGES = 24;
const MAX_LOADING = 3;
/** Distance to the end at which the next page is loaded. */
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
  readonly keyMatch = null;
  readonly isHalted = false;
  readonly #cache: PageCache<ReadonlyMap<number, Row>>;

  /** `first`: rows that are already known, from the first on. If they are stale, they are shown and requested again. */
  constructor(load: LoadRows<Row>, count: number, first: readonly Row[] = [], isStale = false) {
    super();
    this.count = count;
    this.#cache = new PageCache({
      load: (key, signal) => this.#loadPage(load, key, signal),
      onChange: () => this.changed(),
      maxPages: MAX_PAGES,
      maxLoading: MAX_LOADING,
    });
    // An incomplete page must not be cached.
    if (first.length > 0 && first.length >= Math.min(PAGE_ROWS, count))
      this.#cache.put(0, new Map(first.slice(0, PAGE_ROWS).map((row) => [row.seq, row])), isStale);
  }

  get isLoading(): boolean {
    return this.#cache.isLoading;
  }

  get error(): unknown {
    return this.#cache.error;
  }

  /** Without a filter there is no search to stop. */
  halt(): void {}
  goOn(): void {}

  /** Number of cached pages, for tests. */
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

  /** New rows arrived: the last page may have more of them. */
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

  /** The server shortens pages with large rows; the rest is requested. */
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
  /** Cursor of its start. Undefined: the beginning. */
  after: string | undefined;
  /** Row numbers, kept even if the rows are not. */
  seqs: readonly number[];
  next: string | null;
  /** Place of its first row. */
  place: number;
  looked: number;
}

/** Rows that match a filter, in order. Their number is known at the end. */
export class FoundRows<Row extends NumberedRow> extends Watched implements RowPages<Row> {
  #stretches: Stretch[] = [];
  #seen: [number, number] = [0, 0];
  #reach = 0;
  #isHalted = false;
  keyMatch: number | null = null;
  readonly #cache: PageCache<readonly Row[]>;

  constructor(load: LoadRows<Row>) {
    super();
    this.#cache = new PageCache({
      load: async (key, signal) => {
        const after = key === 0 ? undefined : (this.#stretches[key - 1]?.next ?? undefined);
        const answer = await load({ ...(after !== undefined && { after }), pageSize: PAGE_ROWS }, signal);
        if (!signal.aborted) this.#place(key, after, answer);
        if (key === 0) this.keyMatch = answer.keyMatch ?? null;
        return answer.items;
      },
      onChange: () => {
        this.changed();
        // The page may contain no visible rows.
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

  /** Stops the search; the rows found so far stay. */
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

  /** The place of a row among those found so far. */
  placeOf(seq: number): number | undefined {
    for (const { place, seqs } of this.#stretches) {
      const at = seqs.indexOf(seq);
      if (at !== -1) return place + at;
    }
    return undefined;
  }

  /** Finds rows up to this place, although they are not visible. */
  reach(place: number): void {
    if (place <= this.#reach) return;
    this.#reach = place;
    this.want(...this.#seen);
  }

  want(first: number, end: number): void {
    this.#seen = [first, end];
    const keys: number[] = [];
    this.#stretches.forEach(({ place, seqs }, key) => {
      if (place < end && place + seqs.length > first) keys.push(key);
    });
    const last = Math.max(end, this.#reach);
    if (this.hasMore && !this.#isHalted && last + AHEAD_ROWS >= this.count) keys.push(this.#stretches.length);
    // No matches so far; some may match by now.
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

  /** Matches may have changed: pages after a changed end are dropped and searched again. */
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
