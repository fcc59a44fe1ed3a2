// Faults that a test injects: which calls they hit, and how those fail.
import { httpError } from '../core/errors/http-error.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

interface FaultTarget {
  /** Position of the row from 0, several positions, or a predicate of the row. Default: every row. */
  row?: number | readonly number[] | ((row: Record<string, unknown>) => boolean);
  /** Default: every phase. */
  phase?: string;
  /** The attempt, counted from 1, or several attempts. Default: every attempt. */
  attempt?: number | readonly number[];
  /** Maximum number of hits per row and phase. Default: all calls that match. */
  times?: number;
}

export type FaultEffect =
  /** Thrown instead of calling the handler. */
  | { kind: 'throw'; error: unknown }
  /** An HTTP error with this status, and Retry-After if given. */
  | { kind: 'status'; status: number; retryAfterSeconds?: number }
  /** The call never returns, so the phase times out. */
  | { kind: 'timeout' }
  /** The process crashes during the call. */
  | { kind: 'crash' }
  /** The handler is called after this delay. */
  | { kind: 'slow'; ms: number };

export type Fault = FaultTarget & FaultEffect;

export interface FaultedItem {
  seq: number;
  row: Record<string, unknown>;
  phase: string;
  attempt: number;
}

/** Chooses the fault of each call: the first one that matches one of its items and has hits left for it. */
export class FaultPlan {
  readonly #faults: readonly Fault[];
  readonly #hits = new Map<string, number>();

  constructor(pipeline: Pipeline, faults: readonly Fault[]) {
    const names = pipeline.phases.map((phase) => phase.name);
    for (const { phase } of faults) {
      if (phase === undefined || names.includes(phase)) continue;
      throw new RowmillError(
        'PIPELINE_INVALID',
        `a fault names phase ${phase} of pipeline ${pipeline.name}, which has ${names.join(', ')}`,
        { hint: 'Correct the phase of the fault, or leave it out to hit every phase.' },
      );
    }
    this.#faults = faults;
  }

  /** Counts a hit for each item that the fault matches. */
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

/** The error that a handler would throw for this response. */
export function statusError(status: number, retryAfterSeconds: number | undefined): Error {
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return httpError({ status, headers });
}
