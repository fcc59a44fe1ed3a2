// rowmill watch <job>: live progress of a job until it has ended. Leaving it leaves the job running.
import { existsSync } from 'node:fs';
import { isFinished } from '../../core/job-state.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import { exitCodeOf } from '../exit-codes.ts';
import { type FollowEnd, followJob } from '../follow-job.ts';
import { formatCount, printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { JobPort, ShownJob } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { listenForStop } from '../stop-signals.ts';

export interface WatchOptions extends TargetOptions {
  json?: boolean;
}

export async function watchJob(prefix: string, options: WatchOptions): Promise<number> {
  if (!/^[0-9a-f-]+$/i.test(prefix) && existsSync(prefix))
    throw new RowmillError('JOB_NOT_FOUND', `${prefix} is a file, not the id of a job`, {
      hint: `Files of sources become jobs with: rowmill sources watch ${prefix}`,
    });
  return withPort(options, async (port) => {
    const { jobId } = await port.findJob(prefix);
    return watchToEnd(port, jobId, options);
  });
}

/** The exit code says how it ended. */
export async function watchToEnd(
  port: JobPort,
  jobId: string,
  { json = false }: { json?: boolean },
): Promise<number> {
  const stop = listenForStop(
    () => {},
    () => {},
  );
  try {
    const end = json
      ? await printWatched(port, jobId, stop.signal)
      : await followJob(port, jobId, { signal: stop.signal, live: true });
    if (!json) sayHow(end);
    return exitCodeOf(end);
  } finally {
    stop.dispose();
  }
}

function sayHow({ how, job }: FollowEnd): void {
  const { jobId, state, lastError, pausedBecause, held } = job;
  if (how === 'stopped') console.error(`job ${jobId} goes on without being watched: rowmill watch ${jobId}`);
  else if (state === 'FAILED') console.error(`job ${jobId} failed: ${printable(lastError ?? '')}`);
  else if (how === 'waits') {
    const why =
      state === 'PAUSED'
        ? `the job is paused${pausedBecause ? `: ${printable(pausedBecause)}` : ''}`
        : `${formatCount(held)} rows are held`;
    console.error(`${why}: rowmill resume ${jobId}`);
  }
}

/** One line per change, for programs. */
async function printWatched(port: JobPort, jobId: string, signal: AbortSignal): Promise<FollowEnd> {
  let printed = '';
  let last: ShownJob | null = null;
  for await (const { job } of port.watch(jobId, signal)) {
    const { state, generation, itemCount, sealed, counts, cost } = job;
    const line = JSON.stringify({ jobId, state, generation, itemCount, sealed, counts, cost });
    if (line !== printed) console.log(line);
    printed = line;
    last = job;
    if (isFinished(state)) break;
    if (signal.aborted) return { how: 'stopped', job };
  }
  return { how: 'over', job: last! };
}
