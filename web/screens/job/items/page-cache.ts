// A cache of pages by number. It loads the wanted pages, a few at a time, aborts those that are no longer wanted, and
// keeps a bounded number. A stale page is shown until its replacement arrives.

export interface PageCacheOptions<Page> {
  load: (key: number, signal: AbortSignal) => Promise<Page>;
  /** Called when a page arrived or failed. */
  onChange: () => void;
  maxPages: number;
  maxLoading: number;
}

export class PageCache<Page> {
  readonly #options: PageCacheOptions<Page>;
  /** Least recently used first. */
  readonly #pages = new Map<number, { page: Page; isStale: boolean }>();
  /** `isStale`: the page changed while it loads, and is fetched once more. */
  readonly #loading = new Map<number, { controller: AbortController; isStale: boolean }>();
  #wanted: readonly number[] = [];
  #error: unknown = null;

  constructor(options: PageCacheOptions<Page>) {
    this.#options = options;
  }

  get(key: number): Page | undefined {
    return this.#pages.get(key)?.page;
  }

  /** Adds a page that was fetched elsewhere. */
  put(key: number, page: Page, isStale: boolean): void {
    this.#pages.set(key, { page, isStale });
  }

  get size(): number {
    return this.#pages.size;
  }

  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  /** The error of the last page. Loading stops until `retry`. */
  get error(): unknown {
    return this.#error;
  }

  /** Requests these pages, the most urgent first. */
  want(keys: readonly number[]): void {
    this.#wanted = keys;
    for (const [key, { controller }] of this.#loading) {
      if (keys.includes(key)) continue;
      this.#loading.delete(key);
      controller.abort();
    }
    for (const key of keys.toReversed()) {
      const kept = this.#pages.get(key);
      if (!kept) continue;
      this.#pages.delete(key);
      this.#pages.set(key, kept);
    }
    this.#drop();
    this.#loadNext();
  }

  /** Refetches every page when it is next wanted. */
  markStale(): void {
    for (const kept of [...this.#pages.values(), ...this.#loading.values()]) kept.isStale = true;
    this.#loadNext();
  }

  markPageStale(key: number): void {
    for (const kept of [this.#pages.get(key), this.#loading.get(key)]) if (kept) kept.isStale = true;
    this.#loadNext();
  }

  retry(): void {
    this.#error = null;
    this.#options.onChange();
    this.#loadNext();
  }

  dropFrom(key: number): void {
    for (const each of [...this.#pages.keys()]) if (each >= key) this.#pages.delete(each);
    for (const [each, { controller }] of this.#loading) {
      if (each < key) continue;
      this.#loading.delete(each);
      controller.abort();
    }
  }

  stop(): void {
    this.#wanted = [];
    this.dropFrom(Number.NEGATIVE_INFINITY);
  }

  #drop(): void {
    for (const key of this.#pages.keys()) {
      if (this.#pages.size <= this.#options.maxPages) return;
      if (!this.#wanted.includes(key)) this.#pages.delete(key);
    }
  }

  #loadNext(): void {
    if (this.#error !== null) return;
    for (const key of this.#wanted) {
      if (this.#loading.size >= this.#options.maxLoading) return;
      const kept = this.#pages.get(key);
      if (this.#loading.has(key) || (kept && !kept.isStale)) continue;
      void this.#load(key);
    }
  }

  async #load(key: number): Promise<void> {
    const loading = { controller: new AbortController(), isStale: false };
    this.#loading.set(key, loading);
    try {
      const page = await this.#options.load(key, loading.controller.signal);
      if (this.#loading.get(key) !== loading) return;
      this.#pages.delete(key);
      this.#pages.set(key, { page, isStale: loading.isStale });
    } catch (error) {
      if (this.#loading.get(key) !== loading) return;
      this.#error = error;
    }
    this.#loading.delete(key);
    this.#drop();
    this.#options.onChange();
    this.#loadNext();
  }
}
