// The trace of a row as lines of text, in the order in which things happen.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import type { FetchRecord } from '../../core/items/fetch-records.ts';
import { formatCost } from '../../core/limits/format-cost.ts';
import { MAX_CRASHES } from '../../core/retries/crash-policy.ts';
import { printable } from '../progress-lines.ts';
import type { RowOrigin } from './choose-row.ts';
import type { RowTrace, TracedCall, TracedLog } from './row-trace.ts';

const MAX_VALUE_LINES = 200;
const MAX_INPUT_LINES = 40;

export function* originLines(pipeline: string, origin: RowOrigin, input: string): Generator<string> {
  yield `Pipeline ${printable(pipeline)}, ${describeOrigin(origin)}`;
  if (origin.kind === 'file' && origin.repair !== null) yield `Repaired: ${printable(origin.repair)}`;
  if (origin.kind === 'job' && origin.stored !== null) {
    const { status, errorClass, error } = origin.stored;
    yield `In the job: ${status}${error === null ? '' : ` (${errorClass}: ${printable(error)})`}`;
  }
  yield* valueLines(JSON.parse(input), '  ', MAX_INPUT_LINES);
}

export function describeOrigin(origin: RowOrigin): string {
  switch (origin.kind) {
    case 'argument':
      return 'row from the command line';
    case 'file':
      return `row ${origin.row} of ${printable(origin.file)}, line ${origin.line}`;
    default:
      return `row ${origin.row} of job ${origin.jobId} (seq ${origin.seq}${origin.edited ? ', edited' : ''})`;
  }
}

export function startLine({ phase, attempt, strategy }: TracedCall): string {
  return `${printable(phase)}, attempt ${attempt}${strategy === null ? '' : `, strategy ${printable(strategy)}`}`;
}

export function logLine({ startedMs }: TracedCall, { atMs, level, message, fields }: TracedLog): string {
  const values = Object.keys(fields).length === 0 ? '' : ` ${printable(safeJson(fields))}`;
  return `  ${`${atMs - startedMs} ms`.padStart(8)}  ${level.padEnd(5)}  ${printable(String(message))}${values}`;
}

export function* endLines(call: TracedCall, costUnit: string | null, once: boolean): Generator<string> {
  const cost = call.cost === null ? '' : `, cost ${formatCost(call.cost, costUnit)}`;
  const took = `${describeMs(call.handlerMs)}${cost}`;
  for (const fetched of call.fetches) yield fetchLine(fetched);
  if (call.errorClass === null) {
    const word = call.outcome === 'advanced' ? 'done' : call.outcome;
    yield `  ${word} in ${took}`;
    yield* gainLines(call);
    yield* valueLines(call.output, '  ');
    return;
  }
  yield `  ${call.errorClass === 'not_found' ? 'not found' : 'failed'} after ${took}`;
  yield `  ${call.errorClass}: ${printable(call.error ?? '')}`;
  if (call.thrown) yield* stackLines(call.thrown);
  yield `  ${nextStep(call, once)}`;
}

export function fetchLine({ method, url, status, durationMs }: FetchRecord): string {
  return `  ${printable(`${method} ${url}`)}: ${status ?? 'no answer'} after ${describeMs(durationMs)}`;
}

function* gainLines({ emitted, emittedLeftOut, counted }: TracedCall): Generator<string> {
  if (emitted.length > 0) {
    yield `  emitted ${emitted.length + emittedLeftOut} (a try does not run emitted rows):`;
    for (const { key, input } of emitted.slice(0, 10))
      yield `    ${printable(key)} ${printable(JSON.stringify(input))}`;
    if (emitted.length > 10) yield '    …';
  }
  for (const { counter, scope, entity, mode, measured } of counted.slice(0, 10))
    yield `  counted ${printable(`${counter} ${scope}/${entity} ${mode} ${JSON.stringify(measured)}`)}`;
}

/** The stack without the frames of Node and of Rowmill. */
export function* stackLines({ name, causes, stack }: Omit<ThrownError, 'message'>): Generator<string> {
  if (name !== null && name !== 'Error') yield `    ${printable(name)}`;
  for (const frame of userFrames(stack)) yield `    ${printable(frame)}`;
  for (const cause of causes) {
    const code = cause.code === null ? '' : ` (${cause.code})`;
    yield `    caused by ${printable(`${cause.name ?? 'error'}: ${cause.message}${code}`)}`;
  }
}

const OWN_CODE = fileURLToPath(new URL('../..', import.meta.url));
const MAX_FRAMES = 10;

export function userFrames(stack: readonly string[]): string[] {
  return stack
    .map((frame) => frame.replaceAll('file://', ''))
    .filter(
      (frame) =>
        !frame.includes(OWN_CODE) && !/\(?node:|node_modules[\\/]jiti[\\/]|<anonymous>\)?$/.test(frame),
    )
    .slice(0, MAX_FRAMES)
    .map(shortFrame);
}

/** Relative to the working directory, and without the column, which refers to the compiled text. */
function shortFrame(frame: string): string {
  const start = Math.max(frame.lastIndexOf('('), frame.lastIndexOf(' ')) + 1;
  const [column, line, ...path] = frame.slice(start).split(':').toReversed();
  if (line === undefined || path.length === 0) return frame;
  const file = path.toReversed().join(':');
  const near = relative(process.cwd(), file);
  const close = column!.endsWith(')') ? ')' : '';
  return `${frame.slice(0, start)}${near.startsWith('..') ? file : near}:${line}${close}`;
}

function nextStep(
  { outcome, errorClass, thrown, maxAttempts, retryAfterMs }: TracedCall,
  once: boolean,
): string {
  if (outcome === 'crashed')
    return `A worker process would end here. Rowmill runs the row again in a new one, and fails it after ${MAX_CRASHES} crashes.`;
  if (outcome === 'retry') {
    const wait = describeMs(retryAfterMs ?? 0);
    return once
      ? `Rowmill would retry in ${wait}. The try ends here (--once).`
      : `Rowmill retries in ${wait}; a row may fail ${maxAttempts} times as ${errorClass}.`;
  }
  const status = outcome === 'not_found' ? 'NOT_FOUND' : 'ERROR';
  if (maxAttempts !== null && maxAttempts > 1)
    return `Rowmill does not retry: a row may fail ${maxAttempts} times as ${errorClass}. It gets the status ${status}.`;
  const why =
    errorClass === 'permanent' && thrown
      ? ' Errors without an HTTP status or network code are permanent; `httpError` and `classify` change that.'
      : '';
  return `Rowmill does not retry ${errorClass} errors. The row gets the status ${status}.${why}`;
}

export function summaryLine(trace: RowTrace): string {
  const { status, phase, calls, totalMs, handlerMs, waitedMs, cost, costUnit } = trace;
  const count = calls.length === 1 ? '1 call' : `${calls.length} calls`;
  const parts = [
    `${status} in phase ${printable(phase)}`,
    count,
    `${describeMs(totalMs)} (handlers ${describeMs(handlerMs)}, waits ${describeMs(waitedMs)})`,
    ...(cost === null ? [] : [`cost ${formatCost(cost, costUnit)}`]),
  ];
  return parts.join(', ');
}

export function describeMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

export function* valueLines(value: unknown, indent: string, most = MAX_VALUE_LINES): Generator<string> {
  if (value === null || value === undefined) return;
  const lines = JSON.stringify(value, null, 2).split('\n');
  for (const line of lines.slice(0, most)) {
    const spaces = /^ */.exec(line)![0];
    yield `${indent}${spaces}${printable(line)}`;
  }
  if (lines.length > most) yield `${indent}… ${lines.length - most} more lines; --json prints everything`;
}

/** Fields of a log line may be anything. */
function safeJson(fields: object): string {
  try {
    return JSON.stringify(fields) ?? '';
  } catch {
    return '{…}';
  }
}
