// The trace of an attempt as a line of trace_blocks has it.
import type { FetchRecord } from '../../../core/items/fetch-records.ts';
import type { LogLine } from '../../../core/items/log-lines.ts';

/** Most seqs from the first to the last of a block, as in the check of the table. */
export const TRACE_BLOCK_SEQS = 1000;

export interface StoredTrace {
  seq: number;
  attempt: number;
  outcome: string;
  /** From the start of the attempt until its block was stored. */
  agoMs: number;
  durationMs: number;
  retryAfterMs?: number;
  strategy?: string;
  thrown?: StoredThrown;
  log?: LogLine[];
  droppedLines?: number;
  fetches?: FetchRecord[];
  droppedFetches?: number;
  waitedMs?: number;
  waitedFor?: 'rate_limit' | 'budget';
}

export interface StoredThrown {
  name: string | null;
  stack: string[];
  causes: { name: string | null; message: string; code: string | null }[];
}

export function parseTrace(line: string): StoredTrace {
  return JSON.parse(line) as StoredTrace;
}
