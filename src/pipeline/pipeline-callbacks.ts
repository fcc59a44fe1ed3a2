// Callbacks of a pipeline, for events of its jobs.
import type { FailedItem } from '../core/items/failed-item.ts';
import type { Summary } from '../core/jobs/summary.ts';
import type { Logger } from '../platform/logger.ts';

/** Context of a callback. */
export interface CallbackContext<Params = unknown> {
  readonly jobId: string;
  readonly name: string;
  readonly generation: number;
  readonly params: Params;
  /** The same for every attempt: a call may be repeated after a crash. */
  readonly idempotencyKey: string;
  /** Number of this attempt, from 1. */
  readonly attempt: number;
  /** Aborts on timeout and when the worker stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface PipelineCallbacks<Params = unknown> {
  /** Called when a generation of a job is finished and its summary is stored. */
  onDone?: (summary: Summary, context: CallbackContext<Params>) => unknown;
  /** Called at the end of a generation with the items that ended as ERROR, up to 100 per call, in file order. */
  onItemError?: (items: readonly FailedItem[], context: CallbackContext<Params>) => unknown;
  /** Called when no item is left before or in this phase. Once per generation, and not if the job was cancelled. */
  onPhaseDone?: (phase: string, context: CallbackContext<Params>) => unknown;
}

export const CALLBACKS = [
  'onDone',
  'onItemError',
  'onPhaseDone',
] as const satisfies (keyof PipelineCallbacks)[];

export function callbacksOf(definition: PipelineCallbacks): PipelineCallbacks {
  return Object.fromEntries(
    CALLBACKS.flatMap((key) => (definition[key] === undefined ? [] : [[key, definition[key]]])),
  );
}
