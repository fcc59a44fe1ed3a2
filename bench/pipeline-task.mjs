// Child process of pipelines.ts: runs one task. Prints one JSON line.
import { definePipeline, openRowmill } from '../dist/index.js';

const task = JSON.parse(process.argv[2]);
const settings = { blobStore: task.blobStore };

const phases3 = definePipeline({
  name: 'bench-phases',
  phases: ['first', 'second', 'third'].map((name) => ({ name, concurrency: 50, run: ({ n }) => ({ n }) })),
});
/** Two parents emit each child. */
const CHILDREN = 20;
const emitting = definePipeline({
  name: 'bench-emit',
  phases: [
    {
      name: 'only',
      concurrency: 50,
      run: ({ n, leaf }, { emit }) => {
        if (leaf) return null;
        const first = Math.floor(n / 2) * CHILDREN;
        for (let i = 0; i < CHILDREN; i += 1)
          emit(`https://site.example/page/${first + i}`, { leaf: true, n: first + i });
        return null;
      },
    },
  ],
});

/** One item in ten fails, in the first generation only. */
const FAILING = 10;
const failing = definePipeline({
  name: 'bench-reprocess',
  phases: [
    {
      name: 'only',
      concurrency: 50,
      retry: { overloaded: { maxAttempts: 1 } },
      run: ({ n }, { generation }) => {
        if (generation === 1 && n % FAILING === 0) throw Object.assign(new Error('busy'), { status: 503 });
        return { n };
      },
    },
  ],
});

function* numbered(count) {
  for (let n = 0; n < count; n += 1) yield { n };
}

async function drain(pipeline, items) {
  const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
  const { jobId } = await rowmill.createJob(pipeline, { outputs: [] });
  await rowmill.addItems(jobId, numbered(items));
  await rowmill.sealJob(jobId);
  const startedMs = performance.now();
  const worker = await rowmill.startWorker([pipeline]);
  const { total } = await rowmill.whenFinished(jobId);
  const ms = performance.now() - startedMs;
  const { ingestReport } = await rowmill.job(jobId);
  await worker.stop();
  await rowmill.close();
  return { jobId, total, ms, ingestReport };
}

/** Opens a generation without a worker and cancels it, so that the next call finds the job unchanged. */
async function reopen(rowmill, jobId, request) {
  let startedMs = performance.now();
  const { selected } = await rowmill.reprocess(jobId, request);
  const openMs = performance.now() - startedMs;
  startedMs = performance.now();
  await rowmill.cancel(jobId);
  return { count: selected, openMs, cancelMs: performance.now() - startedMs };
}

const TASKS = {
  async reprocess() {
    const { jobId } = await drain(failing, task.items);
    const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
    const failed = await reopen(rowmill, jobId, {});
    const all = await reopen(rowmill, jobId, { statuses: 'all' });
    await rowmill.close();
    return { failed, all };
  },
  async phases3() {
    const { total, ms } = await drain(phases3, task.items);
    return { count: total, ms };
  },
  async emit() {
    const { ms, ingestReport } = await drain(emitting, task.items);
    return { count: ingestReport.emitted + ingestReport.repeated, ms };
  },
};

console.log(JSON.stringify(await TASKS[task.task]()));
