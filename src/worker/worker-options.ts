// The options of a worker, and the check of its pipeline names.
import type { Pipeline } from '../pipeline/pipeline.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { LearnedTimes } from '../core/jobs/learned-times.ts';

import type { Events } from '../platform/events.ts';
import type { Logger } from '../platform/logger.ts';
import type { Settings } from '../platform/settings.ts';
import type { WorkerConnections } from './process/worker-connections.ts';

export interface WorkerOptions {
  databaseUrl: string;
  pipelines: Pipeline[];
  name?: string;
  settings?: Partial<Settings>;
  /** LISTEN only shortens waits. Turn it off behind a transaction pooler. */
  listen?: boolean;
  /** Kills the process when a handler blocks the event loop for `watchdogMs`. Use it only under a supervisor. */
  killWhenStuck?: boolean;
  events?: Events;
  log?: Logger;
  /** Restricts the worker to one job: see `runSlice`. */
  only?: OnlyJob;
}

/** Inputs and callbacks of a worker that is restricted to one job. */
export interface OnlyJob {
  jobId: string;
  /** Open connections of the caller: opening new ones and planning the first claim takes a fifth of a short slice. */
  connections: WorkerConnections;
  /** Item and claim times of earlier slices to start with. */
  learned: LearnedTimes;
  /** Remaining time. A claim takes only as many items as can be finished in it. */
  leftMs: () => number;
  /** Runs when no lease is held and no work is ready. Receives the time until work is ready; null: never. */
  onIdle: (readyInMs: number | null) => void;
  /** Runs at each handler call. */
  onCall: () => void;
  /** Runs when the last item has its result and the job can be finalized. */
  onEnded: () => void;
}

export function checkNames(pipelines: readonly Pipeline[]): void {
  const names = pipelines.map(({ name, version }) =>
    version === null ? name : `${name} version ${version}`,
  );
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new RowmillError('PIPELINE_INVALID', `two pipelines of this worker are named ${twice}`, {
    hint: 'Give each a unique name or version: jobs find their pipeline by it.',
  });
}
