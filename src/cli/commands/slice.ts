// rowmill slice: runs one job for a limited time in this process, for shells and cron (docs/control.md).
import type { SliceReport } from '../../worker/process/run-slice.ts';
import { findJob } from '../find-job.ts';
import { choosePipelines } from '../load-pipeline.ts';
import type { ServerOptions } from '../open-server.ts';
import { rows } from '../describe-stop.ts';
import { formatCount } from '../progress-lines.ts';
import { listenForStop } from '../stop-signals.ts';
import { withRowmill } from '../with-rowmill.ts';

export interface SliceCommandOptions extends ServerOptions {
  duration: number;
  json?: boolean;
}

export async function slice(
  prefix: string,
  references: string[],
  options: SliceCommandOptions,
): Promise<number> {
  const say = (line: string): void => console.error(line);
  const { pipelines } = await choosePipelines(references);
  return withRowmill(options, async (rowmill) => {
    const { signal, dispose } = listenForStop(() => {}, say);
    try {
      const { jobId } = await findJob(rowmill, prefix);
      const report = await rowmill.runSlice(jobId, options.duration, { pipelines, signal });
      console.log(options.json ? JSON.stringify(report) : describeSlice(report));
      return 0;
    } finally {
      dispose();
    }
  });
}

function describeSlice({
  jobId,
  state,
  finished,
  recorded,
  progress,
  elapsedMs,
  ...rest
}: SliceReport): string {
  const { PENDING, PROCESSING } = progress.counts;
  const done = `Job ${jobId} (${state}): ${formatCount(recorded)} outcomes in ${(elapsedMs / 1000).toFixed(1)} s`;
  if (finished) return `${done}; the job is finished`;
  const { moreReadyInMs } = rest;
  const next =
    moreReadyInMs === null
      ? 'another slice would do nothing now'
      : moreReadyInMs === 0
        ? 'the next slice can start now'
        : `the next slice has work in ${(moreReadyInMs / 1000).toFixed(1)} s`;
  return `${done}; ${rows(PENDING + PROCESSING)} left, ${next}`;
}
