// NOTIFY as a hint that there is work to claim. It is rate-limited and sent in its own autocommit statement, never
// inside a transaction that writes rows. Workers also poll, so everything works without LISTEN.
import type pg from 'pg';
import { backoffMs } from '../core/retries/backoff.ts';
import { monotonicMs, waitMs } from './clock.ts';
import type { Executor, Statement } from './database.ts';
import { driverClient, destroySocket } from './database-servers.ts';
import { isThroughPooler } from './is-through-pooler.ts';

const CHANNEL = 'rowmill_work';
const MIN_INTERVAL_MS = 100;
const RECONNECT = { firstMs: 500, capMs: 30_000 };
const NOTIFY: Statement = { name: 'notify-work', text: `select pg_notify('${CHANNEL}', $1)` };

export class WorkNotifier {
  readonly #db: Executor;
  readonly #sender: string;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** Listeners with the same sender ignore the hint: they know already. */
  constructor(db: Executor, sender = '') {
    this.#db = db;
    this.#sender = sender;
  }

  /** Announces waiting work, at most ten times a second. Failures are ignored. */
  async hint(): Promise<void> {
    const now = monotonicMs();
    if (now - this.#lastMs < MIN_INTERVAL_MS) return;
    this.#lastMs = now;
    await this.#db.run(NOTIFY, [this.#sender]).catch(() => {});
  }
}

export class WorkListener {
  readonly #url: string;
  readonly #onHint: () => void;
  readonly #sender: string | undefined;
  readonly #stopping = new AbortController();
  #client: pg.Client | null = null;
  #loop: Promise<void> = Promise.resolve();

  constructor(options: { url: string; onHint: () => void; sender?: string }) {
    this.#url = options.url;
    this.#sender = options.sender;
    this.#onHint = options.onHint;
  }

  start(): void {
    this.#loop = this.#keepListening();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    // Not end(), which waits for a server that may not respond.
    if (this.#client) destroySocket(this.#client);
    await this.#loop;
  }

  async #keepListening(): Promise<void> {
    const Client = driverClient(this.#url);
    for (let failures = 0; !this.#stopping.signal.aborted; failures += 1) {
      const client = new Client({
        connectionString: this.#url,
        application_name: 'rowmill listener',
        keepAlive: true,
        connectionTimeoutMillis: 10_000,
      });
      const ended = new Promise<void>((resolve) => {
        client.on('error', () => resolve());
        client.on('end', () => resolve());
      });
      client.on('notification', ({ payload }) => {
        if (payload !== this.#sender) this.#onHint();
      });
      try {
        this.#client = client;
        await client.connect();
        // Behind a pooler a shared session would listen. Polling finds the work as well.
        if (await isThroughPooler(client)) {
          await client.end();
          return;
        }
        await client.query(`listen ${CHANNEL}`);
        failures = 0;
        if (this.#stopping.signal.aborted) await client.end();
        await ended;
      } catch {
        void client.end().catch(() => {});
      }
      this.#client = null;
      await waitMs(backoffMs(RECONNECT, failures), this.#stopping.signal);
    }
  }
}
