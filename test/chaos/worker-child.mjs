// A worker or an ingest as a separate process for the chaos tests. The only argument is a JSON text; the events of the
// engine and the calls of the handler are printed as JSON lines, written synchronously so that a kill loses none.
// Plain JavaScript on the compiled package, because users run that and it starts without a loader.
import { existsSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineCounter, definePipeline, Events, openRowmill, resource } from '../../dist/index.js';
import { RowmillWorker } from '../../dist/worker/worker.js';
import { runHostile } from './hostile-handlers.mjs';

const FORWARDED = [
  'items.added',
  'claim.made',
  'claim.failed',
  'flush.committed',
  'flush.rolled_back',
  'flush.fenced',
  'lease.lost',
  'lease.rescued',
  'loop.stuck',
  'job.finished',
  'worker.unpersisted',
  'service.failed',
];

const config = JSON.parse(process.argv[2]);
const events = new Events();
for (const name of FORWARDED) events.on(name, (detail) => say(name, detail));

function say(event, detail = {}) {
  const line = JSON.stringify({ event, ...detail }, (_, value) =>
    value instanceof Error ? { message: value.message, code: value.code } : value,
  );
  // A full pipe answers EAGAIN or accepts only a part. Thrown inside a handler, that error would look like the item's
  // failure.
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

async function ingest() {
  const rowmill = await openRowmill({ databaseUrl: config.databaseUrl, settings: config.settings, events });
  const rows = Array.from({ length: config.to - config.from }, (_, i) => ({ n: config.from + i }));
  const added = await rowmill.addItems(config.jobId, rows);
  if (config.seal) await rowmill.sealJob(config.jobId);
  say('ingested', { added });
  await rowmill.close();
}

/** Like a command: makes the same call before and after a crash. */
async function ingestFile() {
  const rowmill = await openRowmill({ databaseUrl: config.databaseUrl, settings: config.settings, events });
  const pipeline = definePipeline({
    name: config.pipeline,
    key: 'n',
    phases: [{ name: 'only', run: () => null }],
  });
  const { jobId, created } = await rowmill.createFileJob(pipeline, config.file);
  say('submitted', { jobId, created });
  await rowmill.ingest(jobId, pipeline);
  say('ingested', { jobId });
  await rowmill.close();
}

async function cancel() {
  const rowmill = await openRowmill({ databaseUrl: config.databaseUrl, settings: config.settings, events });
  say('cancelled', { began: await rowmill.cancel(config.jobId) });
  await rowmill.close();
}

async function reprocess() {
  const rowmill = await openRowmill({ databaseUrl: config.databaseUrl, settings: config.settings, events });
  say('reprocessed', await rowmill.reprocess(config.jobId, { statuses: 'all' }));
  await rowmill.close();
}

/** Like a script: runs one slice after another, when the previous report says so, until the job is finished. */
async function slices() {
  const rowmill = await openRowmill({ databaseUrl: config.databaseUrl, settings: config.settings, events });
  for (;;) {
    const report = await rowmill.runSlice(config.jobId, config.durationMs, { pipelines: [chaosPipeline()] });
    say('slice', report);
    if (report.finished) break;
    await sleep(report.moreReadyInMs);
  }
  await rowmill.close();
}

/** Fed by the handler `count`. */
const notes = defineCounter({
  name: 'notes',
  scope: 'project',
  entity: 'document',
  measures: ['notes', 'links'],
});

function chaosPipeline() {
  const { handler } = config;
  return definePipeline({
    name: config.pipeline,
    counters: handler.kind === 'count' ? [notes] : [],
    resources: config.resources,
    phases: [
      {
        name: 'only',
        concurrency: config.concurrency,
        // By host where the rows have one.
        resources: Object.keys(config.resources ?? {}).map((name) =>
          config.isKeyed ? resource(name, ({ host }) => host) : name,
        ),
        timeoutMs: config.timeoutMs,
        cost: handler.kind === 'pay' ? 1 : undefined,
        run: { hostile: beHostile, fetch: fetchUrl }[handler.kind] ?? callHandler,
        // No retries: these tests are not about them.
        retry: handler.kind === 'hostile' ? { throttled: { maxAttempts: 1 } } : {},
        classify: handler.kind === 'hostile' ? (error) => error?.classified : undefined,
      },
    ],
  });
}

async function work() {
  const worker = new RowmillWorker({
    databaseUrl: config.databaseUrl,
    pipelines: [chaosPipeline()],
    settings: config.settings,
    events,
  });
  process.once('SIGTERM', () => void worker.stop().then((report) => say('stopped', { report })));
  // Reported before the start, because a worker can be killed at its first claim.
  say('worker', { workerId: worker.workerId });
  await worker.start();
  say('ready', { wallClockMs: Date.now() });
}

/** Calls a service; there are too many calls to report each. */
async function fetchUrl({ n, host = '' }) {
  const response = await fetch(`${config.handler.url}/${host}`);
  if (!response.ok) throw new Error(`status ${response.status}`);
  await response.text();
  return { n };
}

async function callHandler(input, context) {
  const { seq, attempt } = context;
  say('call', { seq, attempt });
  const value = await HANDLERS[config.handler.kind](input, context);
  say('return', { seq });
  return value;
}

/** Not async: the worker receives exactly what the case throws or returns. */
function beHostile(input) {
  return input.hostile === undefined ? { n: input.n } : runHostile(input.hostile);
}

const HANDLERS = {
  async log({ n }, { log }) {
    log('began', { n });
    log.warn('ends', { n });
    return { n };
  },
  /** Emits `perItem` keys, most of which already exist. */
  async emit({ n, page }, { emit }) {
    const { perItem, keys } = config.handler;
    for (let i = 0; i < perItem && page === undefined; i += 1) {
      const key = (n * 7 + i * 13) % keys;
      emit(`page ${key}`, { n: key, page: key });
    }
    await sleep(5);
    return { n, pid: process.pid };
  },
  /**
   * Feeds several entities, in an order that differs between items; the row gives the rule. A later generation feeds
   * one less.
   */
  async count({ n, scope, entities, mode = 'add' }, { count, attempt, generation }) {
    const fed = generation === 1 ? entities : entities.slice(1);
    for (const entity of n % 2 === 0 ? fed : [...fed].reverse())
      count(notes, { scope, entity }, { notes: generation, links: n }, mode);
    await sleep(2);
    if (n % 9 === 4 && attempt === 1) throw Object.assign(new Error('busy'), { status: 503 });
    return { n };
  },
  async work({ n }) {
    const { minMs = 0, maxMs = minMs } = config.handler;
    if (maxMs > 0) await sleep(minMs + Math.random() * (maxMs - minMs));
    return { n, pid: process.pid };
  },
  /** Returns for the first items and never for later ones. */
  async hold({ n }) {
    if (n >= config.handler.from) await new Promise(() => {});
    return { n, pid: process.pid };
  },
  /** Calls a service that returns the amount it charged. */
  async pay({ n }, { cost }) {
    const response = await fetch(`${config.handler.url}/${process.pid}`);
    const { price } = await response.json();
    cost(price);
    return { n, price };
  },
  async poison({ n, poison }) {
    if (poison && config.handler.how === 'abort') process.abort();
    if (poison) process.exit(config.handler.how === 'exit 0' ? 0 : 1);
    return { n, pid: process.pid };
  },
  /** Blocks the event loop. */
  async block({ n, block }) {
    const { ms = 0, untilFile } = config.handler;
    const until = performance.now() + ms;
    while (block && (untilFile === undefined ? performance.now() < until : !existsSync(untilFile)));
    return { n, pid: process.pid };
  },
};

if (config.task === 'ingest') await ingest();
else if (config.task === 'ingest-file') await ingestFile();
else if (config.task === 'slices') await slices();
else if (config.task === 'cancel') await cancel();
else if (config.task === 'reprocess') await reprocess();
else await work();
