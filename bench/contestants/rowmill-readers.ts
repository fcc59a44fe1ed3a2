// Readers of a job page: each reads the job, its phases and a page of rows through the store, as the API does, pauses
// and starts again.
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../dist/platform/database.js';
import { listRows } from '../../dist/store/views/exports/export-page.js';
import { readJob } from '../../dist/store/views/jobs/read-job.js';
import { readProgressOf } from '../../dist/store/views/jobs/read-live-progress.js';

const PAUSE_MS = 250;
const PAGE_ROWS = 50;
const REPORT_MS = 60_000;

export class RowmillReaders {
  readonly #db: Database;
  readonly #jobId: string;
  readonly #times: number[] = [];
  readonly #stopping = new AbortController();
  #loops: Promise<void>[] = [];

  /** Resolves when each reader has its connection. */
  static async start(url: string, jobId: string, count: number): Promise<RowmillReaders> {
    const readers = new RowmillReaders(url, jobId, count);
    const each = Array.from({ length: count });
    await Promise.all(each.map(() => readers.#readPage()));
    readers.#loops = each.map(() => readers.#loop());
    return readers;
  }

  private constructor(url: string, jobId: string, count: number) {
    this.#db = new Database({
      url,
      maxConnections: count,
      applicationName: 'bench readers',
      deadlineMs: 30_000,
      keyedAccess: true,
    });
    this.#jobId = jobId;
  }

  /** Returns the milliseconds of each page. */
  async stop(): Promise<number[]> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
    await this.#db.close();
    return this.#times;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    // Readers do not all start at the same moment.
    await sleep(Math.random() * PAUSE_MS, undefined, { signal }).catch(() => {});
    while (!signal.aborted) {
      const startedMs = performance.now();
      await this.#readPage();
      this.#times.push(performance.now() - startedMs);
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #readPage(): Promise<void> {
    const job = (await readJob(this.#db, this.#jobId))!;
    await readProgressOf(this.#db, this.#jobId, { reportMs: REPORT_MS, silentMs: REPORT_MS });
    const fromSeq = Math.floor(Math.random() * Math.max(1, job.itemCount - PAGE_ROWS));
    await listRows(
      this.#db,
      {
        jobId: this.#jobId,
        generation: job.generation,
        fromSeq,
        toSeq: fromSeq + PAGE_ROWS,
        statuses: null,
        phase: null,
        searchHint: null,
        limit: PAGE_ROWS,
      },
      'asc',
    );
  }
}
