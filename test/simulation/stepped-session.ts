// Runs the engine's own functions on one connection, statement by statement: a session of the interleaving runner
// whose steps end after named statements ('fence-leases', 'commit'). Between two steps the function is halted in the
// middle of its work, with its locks and its snapshot.
import type pg from 'pg';
import pgDriver from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import type { Database, Executor, Statement, Transaction } from '../../src/platform/database.ts';
import { Events } from '../../src/platform/events.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import type { Session } from '../support/interleave.ts';
import { createMemoryBlobStore } from '../support/memory-blob-store.ts';

const INT8_OID = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID
      ? Number
      : pgDriver.types.getTypeParser(oid, format as 'text')) as typeof pgDriver.types.getTypeParser,
};
const settings = loadSettings({ flags: {}, environment: {} });
const blobs = createMemoryBlobStore();

/** Deadlocks of the engine, including those that it retried. Emptied by `takeDeadlocks`. */
const deadlocks: string[] = [];

export function takeDeadlocks(): string[] {
  return deadlocks.splice(0);
}

export interface SteppedWork<S> {
  name: string;
  /** The statements after which a step ends, in the order of execution; one more step runs the rest. */
  stops: string[];
  work: (context: EngineContext, shared: S) => Promise<unknown>;
  /** SQL that prepares the connection, for example `set role`. */
  prepare?: string;
}

/** Step names are the stops, numbered from the second of the same name on, and 'end'. */
export function steppedSession<S extends object>({
  name,
  stops,
  work,
  prepare = '',
}: SteppedWork<S>): Session<S> {
  // Keyed by the shared object of one interleaving: the next one uses the same connection.
  const running = new WeakMap<S, SteppedRun>();
  const step = async (client: pg.Client, shared: S, stop: string | null): Promise<void> => {
    let run = running.get(shared);
    if (!run) {
      // Like the engine's pool.
      await client.query(`set jit = off; set plan_cache_mode = force_generic_plan; ${prepare}`);
      run = new SteppedRun(name, client, (context) => work(context, shared));
      running.set(shared, run);
    }
    await run.goOn(stop);
  };
  return {
    name,
    steps: [
      ...stops.map((stop, at) => {
        const earlier = stops.slice(0, at).filter((other) => other === stop).length;
        return {
          name: earlier === 0 ? stop : `${stop}-${earlier + 1}`,
          run: (client: pg.Client, shared: S) => step(client, shared, stop),
        };
      }),
      { name: 'end', run: (client, shared) => step(client, shared, null) },
    ],
  };
}

class SteppedRun {
  readonly #name: string;
  readonly #client: pg.Client;
  readonly #work: (context: EngineContext) => Promise<unknown>;
  #stop: string | null = null;
  #arrived: () => void = () => {};
  #resume: (() => void) | null = null;
  #ended: Promise<unknown> | null = null;

  constructor(name: string, client: pg.Client, work: (context: EngineContext) => Promise<unknown>) {
    this.#name = name;
    this.#client = client;
    this.#work = work;
  }

  /** Resolves after the next statement of this name, or when the work has finished without it. */
  async goOn(stop: string | null): Promise<void> {
    this.#stop = stop;
    const arrived = new Promise<void>((resolve) => {
      this.#arrived = resolve;
    });
    if (this.#ended === null) {
      this.#ended = this.#work({ db: this.#database(), blobs, events: new Events(), settings });
      this.#ended.catch(() => {});
    } else {
      const resume = this.#resume;
      this.#resume = null;
      resume?.();
    }
    await Promise.race([arrived, this.#ended]);
  }

  async #pass<T>(statement: string, send: () => Promise<T>): Promise<T> {
    let value: T;
    try {
      value = await send();
    } catch (error) {
      if ((error as { code?: string }).code === '40P01') deadlocks.push(`${this.#name}.${statement}`);
      throw error;
    }
    if (statement === this.#stop) {
      this.#stop = null;
      this.#arrived();
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    return value;
  }

  #executor(): Executor {
    const client = this.#client;
    return {
      run: <Row extends pg.QueryResultRow>(statement: Statement, values: unknown[] = []) =>
        this.#pass(statement.name, () => client.query<Row>({ ...statement, values, types })),
      runArrays: (statement, values = []) =>
        this.#pass(
          statement.name,
          async () => (await client.query({ ...statement, values, types, rowMode: 'array' })).rows,
        ),
    };
  }

  #database(): Database {
    const client = this.#client;
    const tx: Transaction = {
      ...this.#executor(),
      copy: (statement, rows) => this.#pass(statement.name, () => sendCopy(client, statement, rows)),
    };
    const transaction: Database['transaction'] = async (work, beforeCommit) => {
      await client.query('begin');
      try {
        const value = await work(tx);
        beforeCommit?.();
        await this.#pass('commit', async () => {
          const { command } = await client.query('commit');
          if (command !== 'COMMIT') throw new Error(`expected COMMIT, the server answered ${command}`);
        });
        return value;
      } catch (error) {
        await client.query('rollback').catch(() => {});
        throw error;
      }
    };
    // The engine uses these three members only; the class has private ones, hence the cast.
    return { ...this.#executor(), transaction } as unknown as Database;
  }
}

function sendCopy(client: pg.Client, statement: Statement, rows: string | Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(copyFrom(statement.text));
    stream.on('error', reject);
    stream.on('finish', resolve);
    stream.end(typeof rows === 'string' ? Buffer.from(rows) : Buffer.concat(rows));
  });
}
