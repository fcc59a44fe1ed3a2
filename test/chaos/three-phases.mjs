// Three phases whose handlers record every call in a file first, so that the calls of a killed process are known.
// Every call returns a unique value: the value of a call whose output was not stored cannot be mistaken for one that
// was.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
// Not the whole package: every thread loads this file.
import { definePipeline } from '../../dist/pipeline/define-pipeline.js';

const { CALLS_FILE, HOLD_FROM, KILL_IN_PHASE } = process.env;
const PHASES = ['first', 'second', 'third'];
/** Values that change if they are stored or read carelessly. */
const ODD = { z: 1, a: [0.1, 1e21, -0.5, 9007199254740991], ü: '\u2028"\\/\t', empty: {}, none: null };

function note(phase, context) {
  const { seq, attempt, idempotencyKey, previous } = context;
  const nonce = randomUUID();
  const call = { pid: process.pid, phase, seq, attempt, idempotencyKey, nonce, inThread: !isMainThread };
  appendFileSync(CALLS_FILE, `${JSON.stringify({ ...call, previous: JSON.stringify(previous) ?? null })}\n`);
  return nonce;
}

function answer(phase, input, context, nonce) {
  const trail = [...(context.previous?.trail ?? []), nonce];
  return { n: input.n, phase, trail, odd: ODD };
}

let calls = 0;

/** Waits forever from phase HOLD_FROM on, and kills the process at the call that the test names. */
async function linger(phase, { signal }) {
  if (HOLD_FROM !== undefined && phase >= Number(HOLD_FROM)) {
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  }
  const [killPhase, killCall] = (KILL_IN_PHASE ?? '').split('@').map(Number);
  if (!KILL_IN_PHASE || phase !== killPhase) return;
  calls += 1;
  if (calls === killCall) process.kill(process.pid, 'SIGKILL');
}

function single(phase) {
  return async (input, context) => {
    const held = HOLD_FROM !== undefined && phase >= Number(HOLD_FROM);
    const nonce = held ? null : note(phase, context);
    await linger(phase, context);
    return answer(phase, input, context, nonce);
  };
}

function many(phase) {
  return async (items, context) => {
    const held = HOLD_FROM !== undefined && phase >= Number(HOLD_FROM);
    const nonces = items.map((item) => (held ? null : note(phase, item)));
    await linger(phase, context);
    return items.map((item, at) => answer(phase, item.input, item, nonces[at]));
  };
}

export const run = definePipeline({
  name: 'three-run',
  phases: PHASES.map((name, phase) => ({ name, concurrency: 2, run: single(phase) })),
});

export const runMany = definePipeline({
  name: 'three-many',
  phases: PHASES.map((name, phase) => ({
    name,
    concurrency: 2,
    batch: { maxItems: 4 },
    runMany: many(phase),
  })),
});

export const threads = definePipeline({
  name: 'three-threads',
  phases: PHASES.map((name, phase) => ({ name, concurrency: 1, thread: true, run: single(phase) })),
});
