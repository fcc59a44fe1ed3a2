// `npm run example transactions`: a batch that is delivered in parts and processed by several worker processes, three
// of which are killed while they finalize it; then a second generation, and a batch that is cancelled.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openRowmill, type Pipeline, type Rowmill, startEmbeddedPostgres } from 'rowmill';
import { checkBatch } from './check-batch.ts';
import { generateTransactions } from './generate-transactions.ts';
import { transactions } from './pipeline.ts';
import { type Bank, startBank } from './start-bank.ts';

const WORKERS = 3;
const DELIVERIES = 4;

export async function run(args: readonly string[]): Promise<void> {
  const rows = args.includes('--large') ? 100_000 : 5000;
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-transactions-'));
  const bank = await startBank();
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') });
  const settings = { blobStore: join(folder, 'blobs') };
  const rowmill = await openRowmill({ databaseUrl: server.url, settings });
  const crew = new Crew({
    DATABASE_URL: server.url,
    BLOB_STORE: settings.blobStore,
    SCREENING_URL: bank.screeningUrl,
    CALLBACK_URL: bank.callbackUrl,
    // If a process dies while it writes the summary, another takes over after two seconds instead of thirty.
    FINALIZE_LEASE_MS: '2000',
    SWEEP_MS: '500',
  });
  // Ctrl-C stops the server too, which would otherwise outlive this process.
  process.once('SIGINT', () => void rowmill.close().then(() => process.exit(130)));
  try {
    const problems = await play(rowmill, bank, crew, rows);
    for (const problem of problems.slice(0, 10)) console.error(problem);
    console.log(
      problems.length === 0
        ? `\nall ${rows} rows, the files, the summaries and the callbacks are right`
        : `\n${problems.length} differences from what the generator knows`,
    );
    if (problems.length > 0) process.exitCode = 1;
  } finally {
    await crew.stop();
    await rowmill.close();
    await server.stop();
    await bank.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function play(rowmill: Rowmill, bank: Bank, crew: Crew, rows: number): Promise<string[]> {
  const known = [...generateTransactions(rows, 11)];
  const { jobId } = await rowmill.createJob(transactions, { name: 'today', hold: true });
  for (let part = 0; part < DELIVERIES; part += 1) {
    const delivered = known.slice((part * rows) / DELIVERIES, ((part + 1) * rows) / DELIVERIES);
    await rowmill.addItems(
      jobId,
      delivered.map(({ row }) => row),
    );
    console.log(`delivery ${part + 1}: ${delivered.length} rows appended, the batch is on hold`);
  }
  await rowmill.sealJob(jobId);

  // Each of these processes is killed with kill -9 in the transaction that would finish the batch.
  await crew.start(WORKERS, { ROWMILL_FAULT_POINTS: 'finalize.before_commit=kill' });
  const startedMs = performance.now();
  await rowmill.resume(jobId);
  await follow(rowmill, jobId);
  const seconds = (performance.now() - startedMs) / 1000;
  const first = await checkBatch(rowmill, jobId, known);
  console.log(`\n${rows} rows in ${seconds.toFixed(1)} s by ${first.workers.size} processes:`);
  for (const [pid, count] of first.workers) console.log(`    ${pid} screened ${count}`);
  console.log(`${crew.killed} processes were killed while they finalized the batch, and replaced`);
  await listFiles(rowmill, jobId);

  console.log('\nthe unknown accounts were opened: rerunning their rows as run 2');
  bank.openAccounts(true);
  await rowmill.reprocess(jobId, { statuses: ['NOT_FOUND'] });
  await follow(rowmill, jobId);
  const second = await checkBatch(rowmill, jobId, known, true);
  console.log('the second batch is cancelled midway');
  const abortedId = await abortOnTheWay(rowmill, bank, known.slice(0, 3000));

  const ids = [`${jobId}:1:done`, `${jobId}:2:done`, `${abortedId}:1:done`];
  while (ids.some((id) => !bank.booked.has(id))) await sleep(100);
  console.log('\ncallback                                          outcome    rows   sent  booked');
  for (const [id, { outcome, total }] of bank.booked)
    console.log(
      `${id.padEnd(50)}${outcome.padEnd(9)}${String(total).padStart(6)}${String(bank.deliveries.get(id)).padStart(7)}       1`,
    );
  const unknown = [...bank.booked.keys()].filter((id) => !ids.includes(id));
  return [...first.problems, ...second.problems, ...unknown.map((id) => `unknown callback ${id}`)];
}

/** Polls the batch, as the program that ordered it would. */
async function follow(rowmill: Rowmill, jobId: string): Promise<void> {
  for (let shown = ''; ; await sleep(500)) {
    const { state } = await rowmill.job(jobId);
    const { counts } = await rowmill.progress(jobId);
    const line = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([status, count]) => `${status} ${count}`);
    const text = `${state.padEnd(11)}${line.join('  ')}`;
    if (text !== shown) console.log(text);
    shown = text;
    if (await rowmill.summary(jobId)) return;
  }
}

async function listFiles(rowmill: Rowmill, jobId: string): Promise<void> {
  const { files } = (await rowmill.summary(jobId))!;
  const { finalizeAttempts } = await rowmill.job(jobId);
  console.log(`\nin the blob store, written by attempt ${finalizeAttempts}:`);
  for (const { name, bytes, sha256, rows } of files)
    console.log(
      `    ${name.padEnd(14)}${String(rows ?? '').padStart(8)} rows ${String(bytes).padStart(10)} bytes  sha256 ${sha256.slice(0, 12)}…`,
    );
}

async function abortOnTheWay(
  rowmill: Rowmill,
  bank: Bank,
  known: readonly { row: object }[],
): Promise<string> {
  const before = bank.stats.calls;
  bank.holdScreening(true);
  // Typed as a plain Pipeline it accepts any rows, including those that its schema refuses.
  const pipeline: Pipeline = transactions;
  const jobId = await rowmill.submit(
    pipeline,
    known.map(({ row }) => row),
    { name: 'aborted' },
  );
  while (bank.stats.calls === before) await sleep(20);
  await rowmill.cancel(jobId);
  bank.holdScreening(false);
  await follow(rowmill, jobId);
  return jobId;
}

/** Worker processes. One that is killed is replaced by one without fault points. */
class Crew {
  readonly #environment: Record<string, string>;
  readonly #children = new Set<ChildProcess>();
  #stopping = false;
  killed = 0;

  constructor(environment: Record<string, string>) {
    this.#environment = environment;
  }

  async start(count: number, extra: Record<string, string> = {}): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#startOne(extra)));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      [...this.#children].map(async (child) => {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }),
    );
  }

  async #startOne(extra: Record<string, string>): Promise<void> {
    const script = fileURLToPath(new URL('./worker.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', import.meta.resolve('jiti/register'), script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...this.#environment, ...extra },
    });
    this.#children.add(child);
    child.once('exit', (_, signal) => {
      this.#children.delete(child);
      if (signal !== 'SIGKILL' || this.#stopping) return;
      this.killed += 1;
      void this.#startOne({});
    });
    await once(child.stdout, 'data');
  }
}
