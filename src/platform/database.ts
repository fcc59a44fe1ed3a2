// Connections to PostgreSQL: pool, deadlines, transactions. It does not depend on Rowmill's tables.
//
// Every wait has a deadline. When it passes, the connection is destroyed and not returned to the pool, because a
// client whose query was abandoned stays stuck. Named statements save planning. Behind a pooler they are not used,
// and each statement runs in a transaction that sets the session parameters, because the next one may run in another
// session.
import { setMaxListeners } from 'node:events';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { monotonicMs } from './clock.ts';
import { databaseErrorKind, isStatementNameError } from './database-error.ts';
import { driverClient, destroySocket, isReadOnlyError, readServerList } from './database-servers.ts';
import { isThroughPooler } from './is-through-pooler.ts';

/** An SQL statement of the store. The name identifies it on the server and in logs. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export interface DatabaseOptions {
  url: string;
  maxConnections: number;
  applicationName: string;
  deadlineMs: number;
  /** Only for connections that run nothing but the hot path. */
  keyedAccess?: boolean;
  /** Commits do not wait for the disk: a crash of the server may undo the last ones, always from the newest on. */
  asyncCommit?: boolean;
  onError?: (error: Error) => void;
}

// The statements of the store are written so that only one plan makes sense, and are planned once: planning a claim
// takes four times as long as executing it (2.6 against 0.7 ms for 20 items), and compiling it with JIT a hundred
// times.
const SESSION_PARAMETERS = { jit: 'off', plan_cache_mode: 'force_generic_plan' };
// For sessions that only claim and flush: every access is by key, whatever the statistics are. A plan made while the
// queue was empty would otherwise scan the whole queue for every claim.
const KEYED_ACCESS_PARAMETERS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};
const IDLE_IN_TRANSACTION_MS = 10_000;
const INT8_OID = 20;
const types: pg.CustomTypesConfig = {
  // Seqs and counts stay below 2^53.
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === INT8_OID
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
};

/** Runs statements, on the pool (each in its own transaction) or in one open transaction. */
export interface Executor {
  run<Row extends pg.QueryResultRow>(statement: Statement, values?: unknown[]): Promise<pg.QueryResult<Row>>;
  /** Returns rows as arrays, for statements that return thousands of them. */
  runArrays(statement: Statement, values?: unknown[]): Promise<unknown[][]>;
}

export interface Transaction extends Executor {
  /** Sends rows in COPY text format, in one or several pieces. */
  copy(statement: Statement, rows: string | Buffer[]): Promise<void>;
}

export function sessionParameters(
  options: Pick<DatabaseOptions, 'keyedAccess' | 'asyncCommit' | 'deadlineMs'>,
): [name: string, value: string | number][] {
  return Object.entries({
    ...SESSION_PARAMETERS,
    ...(options.keyedAccess && KEYED_ACCESS_PARAMETERS),
    ...(options.asyncCommit && { synchronous_commit: 'off' }),
    statement_timeout: options.deadlineMs + 1000,
    idle_in_transaction_session_timeout: Math.min(options.deadlineMs, IDLE_IN_TRANSACTION_MS),
  });
}

function beginWith(parameters: [name: string, value: string | number][]): string {
  return ['begin', ...parameters.map(([name, value]) => `set local ${name} = '${value}'`)].join('; ');
}

export class Database implements Executor {
  readonly #pool: pg.Pool;
  readonly #options: DatabaseOptions;
  readonly #hasServerList: boolean;
  readonly #clients = new Set<pg.PoolClient>();
  /** Clients that were checked for a pooler. */
  readonly #asked = new WeakSet<pg.PoolClient>();
  readonly #destroyed = new AbortController();
  #namedStatements = true;
  /** Statements of one connection may run in different sessions of the server. */
  #isPooled = false;
  /** Transactions so far. A statement outside of a transaction counts as one. */
  readonly transactions = { committed: 0, rolledBack: 0 };
  /** Called with the time that each transaction waited for its connection. */
  onWaited: ((ms: number) => void) | null = null;
  #longestWaitMs = 0;
  #isClosing = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#hasServerList = readServerList(options.url) !== null;
    setMaxListeners(0, this.#destroyed.signal);
    this.#pool = new pg.Pool({
      Client: driverClient(options.url),
      connectionString: options.url,
      max: options.maxConnections,
      application_name: options.applicationName,
      connectionTimeoutMillis: options.deadlineMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      allowExitOnIdle: true,
      // The server gives up one second after the deadline: otherwise a statement whose connection was destroyed would
      // keep running and hold its locks. The same applies to a transaction of a process that is frozen.
      options: sessionParameters(options)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
      types,
    });
    // The server may end a connection while it is being closed.
    const report = (error: Error): void => {
      if (!this.#isClosing) options.onError?.(error);
    };
    this.#pool.on('error', report);
    this.#pool.on('connect', (client) => {
      this.#clients.add(client);
      client.on('error', report);
    });
    this.#pool.on('remove', (client) => this.#clients.delete(client));
  }

  /** The longest wait for a connection since the last call. */
  takeLongestWaitMs(): number {
    const ms = this.#longestWaitMs;
    this.#longestWaitMs = 0;
    return ms;
  }

  get url(): string {
    return this.#options.url;
  }

  /** True if a statement so far went through a pooler. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  async run<Row extends pg.QueryResultRow>(
    statement: Statement,
    values: unknown[] = [],
  ): Promise<pg.QueryResult<Row>> {
    return this.#withClient((client) => this.#inSession(client, (tx) => tx.run<Row>(statement, values)));
  }

  async runArrays(statement: Statement, values: unknown[] = []): Promise<unknown[][]> {
    return this.#withClient((client) => this.#inSession(client, (tx) => tx.runArrays(statement, values)));
  }

  /** Runs `work` between BEGIN and COMMIT. Resolves only after the server confirms the commit. */
  async transaction<T>(work: (tx: Transaction) => Promise<T>, beforeCommit?: () => void): Promise<T> {
    return this.#withClient((client) => this.#transact(client, work, beforeCommit));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const ended = this.#pool.end();
    // A connection that is still being opened cannot be ended before its timeout.
    ended.catch(() => {});
    await this.#unlessDestroyed(ended).catch(() => {});
  }

  /** Closes all connections immediately: running statements fail, and no more are sent. */
  destroy(): void {
    this.#destroyed.abort();
    for (const client of this.#clients) destroySocket(client);
  }

  /** Runs a single statement. Behind a pooler session parameters last only for a transaction, so it needs one. */
  #inSession<T>(client: pg.PoolClient, work: (tx: Executor) => Promise<T>): Promise<T> {
    return this.#isPooled ? this.#transact(client, work) : work(this.#on(client));
  }

  async #transact<T>(
    client: pg.PoolClient,
    work: (tx: Transaction) => Promise<T>,
    beforeCommit?: () => void,
  ): Promise<T> {
    try {
      await client.query(this.#isPooled ? beginWith(sessionParameters(this.#options)) : 'begin');
      const value = await work(this.#on(client));
      beforeCommit?.();
      const ended = await client.query('commit');
      // The server answers COMMIT of a failed transaction with ROLLBACK and no error.
      if (ended.command !== 'COMMIT')
        throw new Error(`expected COMMIT, the server answered ${ended.command}`);
      return value;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      throw error;
    }
  }

  #on(client: pg.PoolClient): Transaction {
    return {
      run: (statement, values = []) => this.#send(client, statement, values),
      runArrays: (statement, values = []) => this.#sendArrays(client, statement, values),
      copy: (statement, rows) => sendCopy(client, statement, rows),
    };
  }

  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const askedMs = monotonicMs();
    const connecting = this.#connect();
    const client = await this.#unlessDestroyed(connecting).catch((error: unknown) => {
      connecting.then((late) => late.release(true)).catch(() => {});
      throw error;
    });
    const waitedMs = monotonicMs() - askedMs;
    this.#longestWaitMs = Math.max(this.#longestWaitMs, waitedMs);
    this.onWaited?.(waitedMs);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      destroySocket(client);
    }, this.#options.deadlineMs);
    try {
      if (!this.#asked.has(client)) {
        if (await isThroughPooler(client)) this.#isPooled = true;
        this.#asked.add(client);
      }
      const value = await work(client);
      clearTimeout(timer);
      client.release();
      this.transactions.committed += 1;
      return value;
    } catch (error) {
      clearTimeout(timer);
      this.transactions.rolledBack += 1;
      // A server that was demoted stays read-only: the next connection looks for its successor.
      client.release(late || !isUsable(client) || isReadOnlyError(error) ? true : undefined);
      if (isStatementNameError(error)) this.#namedStatements = false;
      throw late
        ? new Error(`no answer within the deadline of ${this.#options.deadlineMs} ms`, { cause: error })
        : error;
    }
  }

  #unlessDestroyed<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#destroyed;
    return new Promise((resolve, reject) => {
      const refuse = (): void =>
        reject(new Error('the connection was terminated: this database handle is closed'));
      if (signal.aborted) return refuse();
      signal.addEventListener('abort', refuse, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', refuse));
    });
  }

  async #connect(): Promise<pg.PoolClient> {
    const { options } = this.#pool.options;
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (options && (error as { code?: string }).code === '08P01')
        // The pooler refuses startup options: connect without them.
        delete this.#pool.options.options;
      // The server that was known is down or demoted: the next try looks at the whole list.
      else if (!this.#hasServerList || databaseErrorKind(error) !== 'passing') throw error;
      return this.#pool.connect();
    }
  }

  get #usesNames(): boolean {
    return this.#namedStatements && !this.#isPooled;
  }

  async #send<Row extends pg.QueryResultRow>(
    client: pg.PoolClient,
    statement: Statement,
    values: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    return client.query<Row>(this.#usesNames ? { ...statement, values } : { text: statement.text, values });
  }

  async #sendArrays(client: pg.PoolClient, statement: Statement, values: unknown[]): Promise<unknown[][]> {
    const base = { text: statement.text, values, rowMode: 'array' as const };
    const result = await client.query(this.#usesNames ? { ...base, name: statement.name } : base);
    return result.rows;
  }
}

function sendCopy(client: pg.PoolClient, statement: Statement, rows: string | Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(copyFrom(statement.text));
    stream.on('error', reject);
    stream.on('finish', resolve);
    if (typeof rows === 'string') stream.write(Buffer.from(rows));
    // Without waiting for drain: the pieces are in memory already.
    else for (const piece of rows) stream.write(piece);
    stream.end();
  });
}

interface ClientInternals {
  connection?: { stream?: { destroyed?: boolean } };
}

function isUsable(client: pg.PoolClient): boolean {
  return (client as unknown as ClientInternals).connection?.stream?.destroyed !== true;
}
