// Runs the steps of several sessions in every order that keeps each session's own order, on real connections, like
// PostgreSQL's isolationtester. A step that waits for a lock does not stop the schedule: the other sessions continue,
// and the later steps of its own session run as soon as it is free. The test checks the state afterwards. `npm test`
// runs a sample of the orders, evenly spread, `npm run test:deep` all of them.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { seededSequence } from '../../examples/seeded-sequence.ts';
import { isDeep, sample } from './depth.ts';

export interface Step<S> {
  name: string;
  run: (client: pg.Client, shared: S) => Promise<unknown>;
}

export interface Session<S> {
  name: string;
  steps: Step<S>[];
}

/** Step labels, "session.step", in the order in which they should start. */
export type Order = string[];

export interface InterleavingRun {
  /** The requested order: "A.read B.read A.write B.write". */
  order: string;
  /** The order in which the steps started; differs from `order` if a session had to wait for its blocked step. */
  started: string;
  /** Steps that waited for a lock of another session. */
  blocked: string[];
  /** The error of each failed step. Its session was rolled back and its later steps skipped. */
  errors: Map<string, Error & { code?: string }>;
  /** Number of steps that failed with 40P01. */
  deadlocks: number;
  /** Steps that were still waiting when no remaining step could release their lock. */
  stuck: string[];
}

export interface InterleavingOptions<S> {
  databaseUrl: string;
  sessions: Session<S>[];
  /** Creates the state of one run; every step and `check` receive its return value. */
  setup: (admin: pg.Client) => Promise<S>;
  /** Throws if the state after a run is wrong. Step errors that are not tolerated have already failed the run. */
  check: (run: InterleavingRun, shared: S, admin: pg.Client) => Promise<void> | void;
  /** SQLSTATEs that a step may fail with, for example 40P01. */
  tolerate?: string[];
  limit?: number;
  seed?: number;
  /** Runs every order in `npm test` too. */
  everyOrder?: boolean;
  /** Orders that always run, in addition to the sample. */
  include?: string[];
  /** Replays one order, as printed by a failure. */
  only?: string;
  /** A step that neither ends nor waits for a lock for this long fails the run. */
  stepTimeoutMs?: number;
}

interface Connected {
  client: pg.Client;
  pid: number;
}

/** By session name, reused for all orders: connecting and planning take longer than running an order. */
type Connections = Map<string, Connected>;

const POLL_MS = 2;
/** Number of orders that a test runs in `npm test`. */
const QUICK_ORDERS = 8;

/** Number of orders, of `count`, that a test runs in this lane. */
export function ordersOf(all: number): number {
  return isDeep ? all : Math.min(all, QUICK_ORDERS);
}

/** Runs every interleaving of the lane and throws at the first that fails, naming its order. */
export async function forEveryInterleaving<S>(options: InterleavingOptions<S>): Promise<InterleavingRun[]> {
  const { sessions, databaseUrl, only } = options;
  const chosen = only === undefined ? (options.include ?? []) : [only];
  const orders = new Map(chosen.map((text) => [text, parseOrder(sessions, text)]));
  if (only === undefined) {
    const all = [...interleavings(sessions, options)];
    for (const order of options.everyOrder ? all : sample(all, QUICK_ORDERS))
      orders.set(order.join(' '), order);
  }
  const admin = await connect(databaseUrl, 'admin');
  const connections: Connections = new Map();
  const runs: InterleavingRun[] = [];
  try {
    for (const [text, order] of orders) {
      try {
        runs.push(await tryOrder(options, order, admin.client, connections));
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`interleaving failed: ${reason}\nreplay it with only: '${text}'`, { cause });
      }
    }
  } finally {
    for (const { client } of connections.values()) await client.end();
    await admin.client.end();
  }
  return runs;
}

async function tryOrder<S>(
  options: InterleavingOptions<S>,
  order: Order,
  admin: pg.Client,
  connections: Connections,
): Promise<InterleavingRun> {
  const shared = await options.setup(admin);
  const run = await runInterleaving({ ...options, order, shared, observer: admin, connections });
  if (run.stuck.length > 0) {
    throw new Error(`deadlock: ${run.stuck.join(', ')} waits for a lock that no remaining step releases`);
  }
  for (const [step, error] of run.errors) {
    if (error.code !== undefined && options.tolerate?.includes(error.code)) continue;
    const what = error.code === '40P01' ? 'deadlock' : 'error';
    throw new Error(`${what} in ${step}: ${error.message} (${error.code ?? error.name})`, { cause: error });
  }
  await options.check(run, shared, admin);
  return run;
}

/** Runs one order, each session on its own connection; `observer` is one more, which watches the locks. */
async function runInterleaving<S>(options: {
  databaseUrl: string;
  observer: pg.Client;
  /** Missing connections are added. Transactions left open are rolled back, and unusable connections are removed. */
  connections: Connections;
  sessions: Session<S>[];
  order: Order;
  shared: S;
  stepTimeoutMs?: number;
}): Promise<InterleavingRun> {
  const { databaseUrl, observer, connections, sessions, order, shared, stepTimeoutMs = 60_000 } = options;
  const inFlight = new Map<string, { label: string; done: Promise<void> }>();
  const waiting: Order = [];
  const started: Order = [];
  const failed = new Set<string>();
  const blocked = new Set<string>();
  const errors: InterleavingRun['errors'] = new Map();

  function start(label: string): void {
    const { session, step } = findStep(sessions, label);
    const { client } = connections.get(session.name)!;
    started.push(label);
    inFlight.set(session.name, { label, done: runToEnd() });

    async function runToEnd(): Promise<void> {
      try {
        await step.run(client, shared);
      } catch (error) {
        errors.set(label, error as Error);
        failed.add(session.name);
        await client.query('rollback').catch(() => {});
      }
      inFlight.delete(session.name);
    }
  }

  /** Returns once every running step has either ended or waits for a lock that this schedule has to release. */
  async function settle(): Promise<void> {
    const deadline = performance.now() + stepTimeoutMs;
    while (inFlight.size > 0) {
      await Promise.race([...inFlight.values()].map(({ done }) => done).concat(sleep(POLL_MS)));
      if (inFlight.size === 0) return;
      const asked = [...inFlight.keys()];
      const waits = await lockWaits(observer, connections);
      // A step that ended during the query may have released the others.
      if (asked.length !== inFlight.size) continue;
      // A cycle is not a settled state: the server is about to break it with 40P01.
      const circle = asked.filter((name) => waitsForItself(name, waits));
      const settled = circle.length === 0 && asked.every((name) => waits.has(name));
      for (const name of settled ? asked : circle) blocked.add(inFlight.get(name)!.label);
      if (settled) return;
      if (performance.now() > deadline) {
        const labels = [...inFlight.values()].map(({ label }) => label).join(', ');
        throw new Error(`${labels} neither ended nor waited for a lock within ${stepTimeoutMs} ms`);
      }
    }
  }

  async function startWhatCan(): Promise<void> {
    for (;;) {
      const next = waiting.find((label) => !inFlight.has(sessionOf(label)));
      if (next === undefined) return;
      waiting.splice(waiting.indexOf(next), 1);
      if (failed.has(sessionOf(next))) continue;
      start(next);
      await settle();
    }
  }

  try {
    await Promise.all(
      sessions.map(async ({ name }) => {
        if (!connections.has(name)) connections.set(name, await connect(databaseUrl, name));
      }),
    );
    for (const label of order) {
      waiting.push(label);
      await startWhatCan();
    }
    const stuck = [...inFlight.values()].map(({ label }) => label);
    return {
      order: order.join(' '),
      started: started.join(' '),
      blocked: [...blocked],
      deadlocks: [...errors.values()].filter((error) => error.code === '40P01').length,
      errors: new Map(errors),
      stuck,
    };
  } finally {
    // Open transactions must not block the check or the next run.
    for (const [name, { client, pid }] of connections) {
      const usable = inFlight.has(name)
        ? await observer.query('select pg_terminate_backend($1, 5000)', [pid]).then(() => false)
        : await client.query('rollback; select pg_advisory_unlock_all()').catch(() => false);
      if (usable) continue;
      connections.delete(name);
      await client.end();
    }
  }
}

/** All orders, or a seeded sample of `limit` different ones (each equally likely) if there are more. */
export function* interleavings(
  sessions: { name: string; steps: { name: string }[] }[],
  { limit = 1000, seed = 1 }: { limit?: number; seed?: number } = {},
): Generator<Order> {
  const lists = sessions.map(({ name, steps }) => steps.map((step) => `${name}.${step.name}`));
  const labels = lists.flat();
  const unusable = labels.find(
    (label, at) => !/^[^\s.]+\.[^\s.]+$/.test(label) || labels.indexOf(label) < at,
  );
  if (unusable !== undefined) {
    throw new Error(`expected session and step names to be unique words without dots, got '${unusable}'`);
  }
  if (countInterleavings(lists.map((list) => list.length)) <= limit) {
    yield* everyMerge(lists);
    return;
  }
  const random = seededSequence(seed);
  const seen = new Set<string>();
  while (seen.size < limit) {
    const order = randomMerge(lists, random);
    if (seen.size < seen.add(order.join(' ')).size) yield order;
  }
}

function countInterleavings(stepCounts: number[]): number {
  let total = 1;
  let placed = 0;
  for (const count of stepCounts) {
    for (let k = 1; k <= count; k++) total = (total * ++placed) / k;
  }
  return Math.round(total);
}

function* everyMerge(lists: string[][]): Generator<Order> {
  if (lists.every((list) => list.length === 0)) yield [];
  for (const [at, [head, ...tail]] of lists.entries()) {
    if (head === undefined) continue;
    for (const rest of everyMerge(lists.with(at, tail))) yield [head, ...rest];
  }
}

/** Drawing a session by its number of remaining steps makes every merge equally likely. */
function randomMerge(lists: string[][], random: () => number): Order {
  const owners = lists.flatMap((list, at) => list.map(() => at));
  const rest = lists.map((list) => [...list]);
  const order: Order = [];
  while (owners.length > 0) {
    const [owner] = owners.splice(Math.floor(random() * owners.length), 1);
    order.push(rest[owner!]!.shift()!);
  }
  return order;
}

function parseOrder<S>(sessions: Session<S>[], text: string): Order {
  const order = text.trim().split(/\s+/);
  for (const { name, steps } of sessions) {
    const expected = steps.map((step) => `${name}.${step.name}`).join(' ');
    const given = order.filter((label) => sessionOf(label) === name).join(' ');
    if (given !== expected) throw new Error(`expected the order to hold '${expected}', got '${given}'`);
  }
  for (const label of order) findStep(sessions, label);
  return order;
}

function findStep<S>(sessions: Session<S>[], label: string): { session: Session<S>; step: Step<S> } {
  const session = sessions.find(({ name }) => name === sessionOf(label));
  const step = session?.steps.find(({ name }) => `${session.name}.${name}` === label);
  if (!session || !step) throw new Error(`expected a step of the sessions, got '${label}'`);
  return { session, step };
}

function sessionOf(label: string): string {
  return label.slice(0, label.indexOf('.'));
}

/** Which sessions wait for which. Waits for other processes (autovacuum) resolve without us and do not count. */
async function lockWaits(
  observer: pg.Client,
  connections: Map<string, Connected>,
): Promise<Map<string, string[]>> {
  const names = new Map([...connections].map(([name, { pid }]) => [pid, name]));
  const { rows } = await observer.query<{ pid: number; blockers: number[] }>(
    'select pid, pg_blocking_pids(pid) as blockers from unnest($1::int[]) pid',
    [[...names.keys()]],
  );
  const waits = new Map<string, string[]>();
  for (const { pid, blockers } of rows) {
    const known = blockers.flatMap((blocker) => names.get(blocker) ?? []);
    if (known.length > 0) waits.set(names.get(pid)!, known);
  }
  return waits;
}

function waitsForItself(name: string, waits: Map<string, string[]>): boolean {
  const reached = new Set<string>();
  const open = [...(waits.get(name) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(waits.get(next) ?? []));
  }
  return reached.has(name);
}

async function connect(databaseUrl: string, name: string): Promise<Connected> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: `interleave ${name}` });
  client.on('error', () => {});
  await client.connect();
  // No server dies here, so commits need not wait for the disk.
  await client.query('set synchronous_commit = off');
  // Needs a superuser; for others the server takes the default second to detect a deadlock.
  await client.query("set deadlock_timeout = '20ms'").catch(() => {});
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return { client, pid: rows[0]!.pid };
}
