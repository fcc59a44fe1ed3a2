// Pipelines in a separate module, because threads and child processes load it again: for handler-threads.test.ts and
// many-items.test.ts.
import { isMainThread, threadId } from 'node:worker_threads';
import { defineCounter, definePipeline, fail, notFound } from '../../dist/index.js';

function block() {
  for (;;);
}

function useUpMemory() {
  const kept = [];
  for (;;) kept.push(new Array(10_000).fill(kept.length));
}

const notes = defineCounter({
  name: 'thread-notes',
  scope: 'project',
  entity: 'document',
  measures: ['notes'],
});

const handlers = {
  count: ({ n }, { count }) => {
    count(notes, { scope: 'p', entity: 'd' }, { notes: n });
    return { n };
  },
  ok: (input) => ({ n: input.n, inThread: !isMainThread }),
  exit: () => process.exit(3),
  logThenExit: async (_, { log }) => {
    log('about to exit', { code: 3 });
    // The message must leave the thread, which ends without sending the rest.
    await new Promise((resolve) => setImmediate(resolve));
    process.exit(3);
  },
  logGigabyte: ({ n }, { log }) => {
    const megabyte = 'x'.repeat(1_048_576);
    log('begins');
    for (let each = 0; each < n; each += 1) log(megabyte, { megabyte });
    return { n };
  },
  uncaught: () =>
    new Promise(() => {
      setImmediate(() => {
        throw new Error('thrown where nobody catches');
      });
    }),
  oom: useUpMemory,
  block,
  heed: (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
  throws: () => {
    throw Object.assign(new Error('unprocessable'), { status: 422 });
  },
  notFound: () => notFound('nowhere'),
  fail: () => fail('refused'),
  date: () => ({ at: new Date(0) }),
  context: ({ n }, { jobId, seq, attempt, idempotencyKey, previous, log }) => {
    log.warn({ n }, 'said in a thread');
    return { jobId, seq, attempt, idempotencyKey, previous };
  },
};

export const threaded = definePipeline({
  name: 'threaded',
  counters: [notes],
  phases: [
    { name: 'before', run: ({ n }) => ({ before: n }) },
    {
      name: 'compute',
      concurrency: 2,
      timeoutMs: 6000,
      thread: { memoryMb: 32 },
      retry: { timeout: { maxAttempts: 1 } },
      classify: (error) => (error.message === 'unprocessable' ? { class: 'not_found' } : undefined),
      run: (input, context) => handlers[input.how](input, context),
    },
  ],
});

export const counted = definePipeline({
  name: 'counted-threads',
  phases: [{ name: 'compute', concurrency: 3, thread: true, run: () => ({ threadId }) }],
});

/** Never returns, and ignores its signal. */
export const deaf = definePipeline({
  name: 'deaf',
  phases: [
    {
      name: 'only',
      concurrency: 2,
      timeoutMs: 50,
      retry: { timeout: { maxAttempts: 1 } },
      run: (input) => (input.deaf ? new Promise(() => {}) : { pid: process.pid }),
    },
  ],
});

/** One of its items kills every process that runs it. */
export const poisoned = definePipeline({
  name: 'poisoned-batch',
  phases: [
    {
      name: 'only',
      batch: { maxItems: 16 },
      runMany: (items) => {
        if (items.some(({ input }) => input.poison)) process.exit(1);
        return items.map(({ input }) => ({ n: input.n }));
      },
    },
  ],
});
