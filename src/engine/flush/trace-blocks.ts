// Cuts the traces of a flush into blocks of attempts of items that are near each other.
import {
  BETWEEN_BLOCKS,
  type TraceBlock,
  type TraceBlocks,
} from '../../store/commands/results/insert-trace-blocks.ts';
import { TRACE_BLOCK_SEQS } from '../../store/views/items/stored-trace.ts';
import type { AttemptTrace, RecordedOutcome } from './flush-outcomes.ts';

/** Most attempts of a block, and most bytes before the last attempt. Reading one attempt reads its block. */
const BLOCK = { attempts: 500, bytes: 256 * 1024 };

export interface TracedOutcome {
  attempt: number;
  outcome: RecordedOutcome;
  trace: AttemptTrace;
}

/** `nowMs`: the time of the flush, to which the starts of the attempts are relative. */
export function traceBlocks(traced: readonly TracedOutcome[], nowMs: number): TraceBlocks {
  const blocks: TraceBlock[] = [];
  // Bytes, written line by line: as strings, the lines of a flush would all be alive at once, and collecting them
  // costs more than writing them.
  const text = Buffer.allocUnsafe(traced.reduce((sum, { trace }) => sum + maxBytesOf(trace), 0));
  let bytes = 0;
  let open: TraceBlock | null = null;
  let attempts = 0;
  let openedAt = 0;
  for (const each of inOrder(traced)) {
    const { seq } = each.outcome;
    const isFull =
      open === null ||
      attempts >= BLOCK.attempts ||
      bytes - openedAt >= BLOCK.bytes ||
      seq - open.firstSeq >= TRACE_BLOCK_SEQS;
    if (open === null || isFull) {
      if (open !== null) bytes += text.write(BETWEEN_BLOCKS, bytes);
      open = { firstSeq: seq, lastSeq: seq, lineCount: 0 };
      attempts = 0;
      openedAt = bytes;
      blocks.push(open);
    } else bytes += text.write('\n', bytes);
    open.lastSeq = seq;
    open.lineCount += each.trace.lineCount;
    attempts += 1;
    bytes += text.write(traceJson(each, nowMs), bytes);
  }
  return { blocks, text: text.subarray(0, bytes) };
}

/** More than the names and numbers of a trace have, with the longest strategy. */
const MAX_FRAME_BYTES = 1000;

/** A character has at most three bytes: two that form a pair have four together. */
function maxBytesOf({ thrown, log, fetches, strategy }: AttemptTrace): number {
  const length =
    (thrown?.length ?? 0) + (log?.length ?? 0) + (fetches?.length ?? 0) + (strategy?.length ?? 0) * 2;
  return MAX_FRAME_BYTES + 3 * length;
}

/** `read-item-trace` finds attempts by the beginning. Absent fields are null, or 0. */
function traceJson({ attempt, outcome, trace }: TracedOutcome, nowMs: number): string {
  const { seq, kind, status, handlerMs, delayMs } = outcome;
  const { endedAtMs, strategy, thrown, log, droppedLines, fetches, droppedFetches } = trace;
  const ended = kind === 'advance' ? 'advanced' : kind === 'retry' ? 'retry' : status.toLowerCase();
  const agoMs = Math.round(Math.max(0, nowMs - endedAtMs) + handlerMs);
  let json = `{"seq":${seq},"attempt":${attempt},"outcome":"${ended}","agoMs":${agoMs},"durationMs":${Math.round(handlerMs * 10) / 10}`;
  if (kind === 'retry') json += `,"retryAfterMs":${delayMs}`;
  if (strategy !== null) json += `,"strategy":${JSON.stringify(strategy)}`;
  if (thrown !== null) json += `,"thrown":${thrown}`;
  if (log !== null) json += `,"log":${log}`;
  if (droppedLines > 0) json += `,"droppedLines":${droppedLines}`;
  if (fetches !== null) json += `,"fetches":${fetches}`;
  if (droppedFetches > 0) json += `,"droppedFetches":${droppedFetches}`;
  if (trace.waitedMs >= 1) json += `,"waitedMs":${Math.round(trace.waitedMs)}`;
  if (trace.waitedFor !== null) json += `,"waitedFor":"${trace.waitedFor}"`;
  return `${json}}`;
}

/** Most flushes have their outcomes in the order of their items. */
function inOrder(traced: readonly TracedOutcome[]): readonly TracedOutcome[] {
  let last = -1;
  for (const { outcome } of traced) {
    if (outcome.seq < last) return traced.toSorted((a, b) => a.outcome.seq - b.outcome.seq);
    last = outcome.seq;
  }
  return traced;
}
