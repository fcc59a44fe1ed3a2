// Faults that a test asks for: which calls they hit, and what happens to those.
import { httpError } from '../core/errors/http-error.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

interface FaultTarget {
  /** Position of the row from 0, several of them, or a test of the row. Default: every row. */
  row?: number | readonly number[] | ((row: Record<string, unknown>) => boolean);
  /** Default: every phase. */
  phase?: string;
  /** The attempt, counted from 1, or several of them. Default: every attempt. */
  attempt?: number | readonly number[];
  /** How many calls of one row and phase it hits. Default: all that match. */
  times?: number;
}

export type FaultEffect =
  /** Thrown instead of calling the handler. */
  | { kind: 'throw'; error: unknown }
  /** An HTTP answer that the handler did not expect: an error with this status, and Retry-After if given. */
  | { kind: 'status'; status: number; retryAfterSeconds?: number }
  /** No answer before the time of the phase is over. */
  | { kind: 'timeout' }
  /** The process ends during the call. */
  | { kind: 'crash' }
  /** The handler is called this much later. */
  | { kind: 'slow'; ms: number };

export type Fault = FaultTarget & FaultEffect;

export interface FaultedItem {
  seq: number;
  row: Record<string, unknown>;
  phase: string;
  attempt: number;
}

/** The fault of each call: the first that matches one of its items and is not used up for that. */
export class FaultPlan {
  readonly #faults: readonly Fault[];
  readonly #hits = new Map<string, number>();

  constructor(pipeline: Pipeline, faults: readonly Fault[]) {
    const names = pipeline.phases.map((phase) => phase.name);
    for (const { phase } of faults) {
      if (phase === undefined || names.includes(phase)) continue;
      throw new RowmillError(
        'PIPELINE_INVALID',
        `a fault is meant for phase ${phase} of pipeline ${pipeline.name}, which has ${names.join(', ')}`,
        { hint: 'Correct the phase of the fault, or leave it out to hit every phase.' },
      );
    }
    this.#faults = faults;
  }

  /** Counts as a hit for each of the items that it was meant for. */
  take(items: readonly FaultedItem[]): FaultEffect | null {
    for (const [index, fault] of this.#faults.entries()) {
      const hit = items.filter((item) => matches(fault, item) && this.#isLeft(index, fault, item));
      for (const item of hit) this.#hits.set(keyOf(index, item), this.#hitsOf(index, item) + 1);
      if (hit.length > 0) return fault;
    }
    return null;
  }

  #isLeft(index: number, fault: Fault, item: FaultedItem): boolean {
    return this.#hitsOf(index, item) < (fault.times ?? Number.POSITIVE_INFINITY);
  }

  #hitsOf(index: number, item: FaultedItem): number {
    return this.#hits.get(keyOf(index, item)) ?? 0;
  }
}

function keyOf(index: number, { seq, phase }: FaultedItem): string {
  return `${index} ${seq} ${phase}`;
}

function matches(fault: Fault, { seq, row, phase, attempt }: FaultedItem): boolean {
  if (fault.phase !== undefined && fault.phase !== phase) return false;
  if (fault.attempt !== undefined && ![fault.attempt].flat().includes(attempt)) return false;
  if (fault.row === undefined) return true;
  return typeof fault.row === 'function' ? fault.row(row) : [fault.row].flat().includes(seq);
}

/** What a handler would throw that met this answer. */
export function statusError(status: number, retryAfterSeconds: number | undefined): Error {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return httpError({ status, headers });
}
