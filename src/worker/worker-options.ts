// Options of a worker.
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
  /** LISTEN only shortens waits; off behind a transaction pooler. */
  listen?: boolean;
  /** End the process when a handler blocks its main loop past watchdogMs: right under a supervisor. */
  killWhenStuck?: boolean;
  events?: Events;
  log?: Logger;
  /** Works on one job and nothing else: see runSlice. */
  only?: OnlyJob;
}

/** Questions and reports of a worker that is restricted to one job. */
export interface OnlyJob {
  jobId: string;
  /** The caller's, and open: opening them and planning the first claim would take a fifth of a short slice. */
  connections: WorkerConnections;
  /** Times to start with. */
  learned: LearnedTimes;
  /** No claim is larger than what can be done in it. */
  leftMs: () => number;
  /** Nothing is held here and nothing is ready; the first that waits is ready then, or null. */
  onIdle: (readyInMs: number | null) => void;
  /** A handler was called. */
  onCall: () => void;
  /** The last item has ended, and the job waits to be finalized. */
  onEnded: () => void;
}

export function checkNames(pipelines: readonly Pipeline[]): void {
  const names = pipelines.map(({ name, version }) =>
    version === null ? name : `${name} version ${version}`,
  );
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new RowmillError('PIPELINE_INVALID', `two pipelines of this worker are named ${twice}`, {
    hint: 'Give each a name, or a version, of its own: jobs find their pipeline by it.',
  });
}
