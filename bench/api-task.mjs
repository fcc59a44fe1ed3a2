// Child process of api.ts: fills a job with finished items, then measures requests to a server in a separate process,
// while a worker in another process runs a second job. Prints one JSON line.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startApi } from '../dist/api/start-api.js';
import { definePipeline, openRowmill } from '../dist/index.js';
import { silentLogger } from '../dist/platform/logger.js';
import { loadSettings } from '../dist/platform/settings.js';

const task = JSON.parse(process.argv[2]);
const settings = { blobStore: task.blobStore };
const CONNECTIONS = 10;
const WARM_UP_MS = 500;

const pipeline = definePipeline({
  name: 'bench-api',
  outputs: [],
  phases: [
    {
      name: 'only',
      concurrency: 20,
      run: async ({ n }) => {
        await sleep(50);
        return { n };
      },
    },
  ],
});

/** Creates a finished job with SQL, bypassing the engine, because its execution is not measured. */
async function fill() {
  const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
  const { jobId } = await rowmill.createJob(pipeline, { ownerId: 'local' });
  const client = new pg.Client({ connectionString: task.databaseUrl });
  await client.connect();
  await client.query(
    `insert into items (job_id, seq, input_bytes, input)
     select $1, n, 80, jsonb_build_object('article', 'A-' || n, 'name', 'article number ' || n, 'amount', n % 10)
     from generate_series(0, $2::int - 1) n`,
    [jobId, task.items],
  );
  await client.query(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, result)
     select $1, n, 1, 0, 1, 'DONE', 12, jsonb_build_object('price', n * 0.01, 'currency', 'EUR', 'shop', 'shop ' || n % 50)
     from generate_series(0, $2::int - 1) n`,
    [jobId, task.items],
  );
  await client.query(
    `insert into ledger (job_id, entry_id, generation, phase, done) values ($1, gen_random_uuid(), 1, 0, $2)`,
    [jobId, task.items],
  );
  await client.query(`update jobs set item_count = $2, sealed_at = now(), state = 'DONE' where job_id = $1`, [
    jobId,
    task.items,
  ]);
  await client.end();
  await rowmill.close();
  return { jobId };
}

async function startProcess(role) {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify({ ...task, task: role })]);
  const [message] = await once(child, 'message');
  return { child, ...message };
}

async function stopProcess({ child }) {
  const ended = once(child, 'exit');
  child.send('stop');
  await ended;
}

async function serve() {
  const loaded = loadSettings({
    flags: {
      ...settings,
      authentication: 'none',
      apiPort: 0,
      apiRequestsPerSecond: 100_000,
      apiRequestBurst: 1_000_000,
    },
  });
  const api = await startApi({
    databaseUrl: task.databaseUrl,
    pipelines: [pipeline],
    settings: loaded,
    log: silentLogger,
  });
  process.send({ url: api.url });
  await once(process, 'message');
  await api.stop();
  process.disconnect();
}

async function work() {
  const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(pipeline, numbered(100_000), { ownerId: 'local' });
  process.send({ jobId });
  await once(process, 'message');
  await rowmill.cancel(jobId);
  await worker.stop();
  await rowmill.close();
  process.disconnect();
}

function* numbered(count) {
  for (let n = 0; n < count; n += 1) yield { n };
}

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/** Milliseconds until the complete response was received. */
function ask(url) {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume();
      response.once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - startedMs);
        else reject(new Error(`${url} answered ${response.statusCode}`));
      });
    }).once('error', reject);
  });
}

async function rateOf(urlOf) {
  const times = [];
  let untilMs = performance.now() + WARM_UP_MS;
  const one = async () => {
    while (performance.now() < untilMs) times.push(await ask(urlOf()));
  };
  const all = () => Promise.all(Array.from({ length: CONNECTIONS }, one));
  await all();
  times.length = 0;
  const fromMs = performance.now();
  untilMs = fromMs + task.useMs;
  await all();
  const seconds = (performance.now() - fromMs) / 1000;
  times.sort((a, b) => a - b);
  return { perSecond: times.length / seconds, p99Ms: times[Math.floor(times.length * 0.99)] };
}

function median(times) {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

/** Alternates first and last pages, so that other load affects both equally. */
async function deepOf(first, last) {
  const times = { first: [], last: [] };
  for (let n = 0; n < task.pairs; n += 1) {
    times.first.push(await ask(first));
    times.last.push(await ask(last));
  }
  return median(times.last) / median(times.first);
}

async function measure() {
  const server = await startProcess('serve');
  const worker = await startProcess('work');
  const items = `${server.url}/api/jobs/${task.jobId}/items?pageSize=50&fromSeq=`;
  try {
    const status = await rateOf(() => `${server.url}/api/jobs/${worker.jobId}`);
    const page = await rateOf(() => items + Math.floor(Math.random() * (task.items - 50)));
    const deep = await deepOf(`${items}0`, items + (task.items - 50));
    return { status, page, deep };
  } finally {
    await stopProcess(worker);
    await stopProcess(server);
    agent.destroy();
  }
}

if (task.task === 'serve') await serve();
else if (task.task === 'work') await work();
else console.log(JSON.stringify(await (task.task === 'fill' ? fill() : measure())));
