// rowmill jobs watch <job>: shows live progress of a job until it finishes. Ctrl-C leaves the job running.
import { existsSync } from 'node:fs';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { stopLines } from '../describe-stop.ts';
import { exitCodeOf } from '../exit-codes.ts';
import { printChanges } from '../print-changes.ts';
import { type FollowEnd, showProgress } from '../show-progress.ts';
import { printedCommand } from '../printed-command.ts';
import { printable } from '../progress-lines.ts';
import { chooseTarget, type TargetOptions } from '../remote/choose-target.ts';
import type { JobPort } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { listenForStop } from '../stop-signals.ts';

export interface WatchOptions extends TargetOptions {
  json?: boolean;
}

export async function watchJob(prefix: string, options: WatchOptions): Promise<number> {
  if (!/^[0-9a-f-]+$/i.test(prefix) && existsSync(prefix))
    throw new RowmillError('JOB_NOT_FOUND', `${prefix} is a file, not the id of a job`, {
      hint: `To create jobs from files of sources: rowmill sources watch ${prefix}`,
    });
  return withPort(options, async (port) => {
    const { jobId } = await port.findJob(prefix);
    return watchToEnd(port, jobId, options);
  });
}

/** Returns the exit code for how the job finished. */
export async function watchToEnd(
  port: JobPort,
  jobId: string,
  options: WatchOptions & { hold?: boolean; trial?: number },
): Promise<number> {
  const { json = false } = options;
  const stop = listenForStop(
    () => {},
    () => {},
  );
  try {
    const end = json
      ? await printChanges(port, jobId, { signal: stop.signal, live: true })
      : await showProgress(port, jobId, { signal: stop.signal, live: true });
    if (!json) sayHow(end, options);
    return exitCodeOf(end, options);
  } finally {
    stop.dispose();
  }
}

function sayHow({ how, job }: FollowEnd, where: TargetOptions): void {
  const { jobId, state, lastError } = job;
  if (how === 'stopped')
    console.error(
      `Job ${jobId} keeps running. Watch it with: ${printedCommand(['jobs', 'watch', jobId], where)}`,
    );
  else if (state === 'FAILED') console.error(`Job ${jobId} failed: ${printable(lastError ?? '')}`);
  else if (how === 'waits') {
    for (const line of stopLines(job, ['jobs', 'resume', jobId], where, chooseTarget(where).kind))
      console.error(line);
  }
}
