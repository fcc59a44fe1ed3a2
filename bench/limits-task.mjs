// Child process of limits.ts: runs one measurement, and starts worker processes if several share a limit. Prints one
// JSON line.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { definePipeline, openRowmill } from '../dist/index.js';

const task = JSON.parse(process.argv[2]);
const settings = { blobStore: task.blobStore };
const PROCESSES = 4;
/** Time for every process to learn of the others. */
const WARM_UP_MS = 2000;

/** Starts and busy time of the handlers in this process. */
const seen = { starts: 0, busyMs: 0 };

function pipelineOf({ service = 'service', limits, handlerMs = 0, slots = 50 }) {
  return definePipeline({
    name: 'bench-limits',
    outputs: [],
    ...(limits && { resources: { [service]: limits } }),
    phases: [
      {
        name: 'only',
        concurrency: slots,
        ...(limits && { resources: [service] }),
        run:
          handlerMs === 0
            ? ({ n }) => ({ n })
            : async ({ n }) => {
                seen.starts += 1;
                const startedMs = performance.now();
                await sleep(handlerMs);
                seen.busyMs += performance.now() - startedMs;
                return { n };
              },
      },
    ],
  });
}

function* numbered(count) {
  for (let n = 0; n < count; n += 1) yield { n };
}

async function startProcesses(options) {
  const children = Array.from({ length: PROCESSES }, () =>
    fork(fileURLToPath(import.meta.url), [JSON.stringify({ ...task, ...options, task: 'worker' })]),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  return children;
}

async function ask(children) {
  const answers = children.map((child) => once(child, 'message'));
  for (const child of children) child.send('seen');
  const all = (await Promise.all(answers)).map(([answer]) => answer);
  return {
    starts: all.reduce((sum, each) => sum + each.starts, 0),
    busyMs: all.reduce((sum, each) => sum + each.busyMs, 0),
  };
}

async function stopAll(children) {
  const ends = children.map((child) => once(child, 'exit'));
  for (const child of children) child.send('stop');
  await Promise.all(ends);
}

/** Use of a limit over some seconds with a queue that is never empty. */
async function measureUse(options, items) {
  const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
  const children = await startProcesses(options);
  const jobId = await rowmill.submit(pipelineOf(options), numbered(items));
  await sleep(WARM_UP_MS);
  const fromMs = performance.now();
  const before = await ask(children);
  await sleep(task.useMs);
  const after = await ask(children);
  const seconds = (performance.now() - fromMs) / 1000;
  await rowmill.cancel(jobId);
  await stopAll(children);
  await rowmill.close();
  return {
    perSecond: (after.starts - before.starts) / seconds,
    atOnce: (after.busyMs - before.busyMs) / 1000 / seconds,
  };
}

async function drainMs(limits) {
  const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
  const pipeline = pipelineOf({ limits });
  const jobId = await rowmill.submit(pipeline, numbered(task.items), { outputs: [] });
  const startedMs = performance.now();
  const worker = await rowmill.startWorker([pipeline]);
  await rowmill.whenFinished(jobId);
  const ms = performance.now() - startedMs;
  await worker.stop();
  await rowmill.close();
  return ms;
}

const WIDE = { concurrency: 1000, adaptive: false };

const TASKS = {
  async worker() {
    const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
    const worker = await rowmill.startWorker([pipelineOf(task)]);
    const leave = async () => {
      await worker.stop({ drainMs: 0 });
      await rowmill.close();
      process.exit(0);
    };
    process.on('message', (message) => {
      if (message === 'seen') process.send(seen);
      else void leave();
    });
    process.send('ready');
  },
  async use() {
    const rate = await measureUse(
      { service: 'rate', limits: { ratePerSecond: 400 }, handlerMs: 20 },
      100_000,
    );
    const atOnce = await measureUse(
      { service: 'atOnce', limits: { concurrency: 40 }, handlerMs: 50 },
      100_000,
    );
    return { rate: rate.perSecond / 400, atOnce: atOnce.atOnce / 40 };
  },
  async permits() {
    const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
    const children = await startProcesses({ limits: WIDE });
    const jobId = await rowmill
      .createJob(pipelineOf({ limits: WIDE }), { hold: true })
      .then((job) => job.jobId);
    await rowmill.addItems(jobId, numbered(task.items));
    await rowmill.sealJob(jobId);
    const startedMs = performance.now();
    await rowmill.resume(jobId);
    await rowmill.whenFinished(jobId);
    const ms = performance.now() - startedMs;
    await stopAll(children);
    await rowmill.close();
    return { perSecond: (task.items / ms) * 1000 };
  },
  async overhead() {
    const without = await drainMs(null);
    const withLimits = await drainMs(WIDE);
    return { withUs: (withLimits / task.items) * 1000, withoutUs: (without / task.items) * 1000 };
  },
  async smallJob() {
    const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings });
    const pipeline = pipelineOf({ limits: null });
    await rowmill.submit(pipeline, numbered(task.items), { ownerId: 'large' });
    const worker = await rowmill.startWorker([pipeline]);
    await worker.events.next('flush.committed');
    const startedMs = performance.now();
    const jobId = await rowmill.submit(pipeline, numbered(10), { ownerId: 'small' });
    await rowmill.whenFinished(jobId);
    const ms = performance.now() - startedMs;
    await worker.stop({ drainMs: 0 });
    await rowmill.close();
    return { ms };
  },
};

const answer = await TASKS[task.task]();
if (answer) console.log(JSON.stringify(answer));
