// Callbacks of a pipeline: events of its jobs, besides its items.
import type { FailedItem } from '../core/items/failed-item.ts';
import type { Summary } from '../core/jobs/summary.ts';
import type { Logger } from '../platform/logger.ts';

export interface CallbackContext<Params = unknown> {
  readonly jobId: string;
  readonly name: string;
  readonly generation: number;
  readonly params: Params;
  /** The same on every attempt: a call may come again after a crash. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborts when the time is over or the worker stops. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export interface PipelineCallbacks<Params = unknown> {
  /** A generation of a job has ended: its summary is written. */
  onDone?: (summary: Summary, context: CallbackContext<Params>) => unknown;
  /** Items of a generation that ended as ERROR, when it has ended: up to 100 at a time, in the order of the file. */
  onItemError?: (items: readonly FailedItem[], context: CallbackContext<Params>) => unknown;
  /** No item is left before or in this phase. Once per generation; not when it was cancelled. */
  onPhaseDone?: (phase: string, context: CallbackContext<Params>) => unknown;
}

export const CALLBACKS = [
  'onDone',
  'onItemError',
  'onPhaseDone',
] as const satisfies (keyof PipelineCallbacks)[];

/** The callbacks of a definition, without its other keys. */
export function callbacksOf(definition: PipelineCallbacks): PipelineCallbacks {
  return Object.fromEntries(
    CALLBACKS.flatMap((key) => (definition[key] === undefined ? [] : [[key, definition[key]]])),
  );
}
