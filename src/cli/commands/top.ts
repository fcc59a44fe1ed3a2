// rowmill top: unfinished jobs, workers, services and the database, redrawn every second until Ctrl-C.
import { FINISHED_STATES, JOB_STATES } from '../../core/jobs/job-state.ts';
import { shortJobIds } from '../../core/jobs/job-id-prefix.ts';
import type { ResourceStatus } from '../../core/limits/resource-status.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { showUntilOver } from '../live-view.ts';
import { etaWords, formatCount, formatDuration, formatRate, printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { DatabaseLoad, JobPort, ShownJob, ShownWorker } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { textTable } from '../text-table.ts';
import { resourceTable } from './resources.ts';

const SHOWN_JOBS = 10;
const SHOWN_RESOURCES = 10;
const UNFINISHED = JOB_STATES.filter((state) => !FINISHED_STATES.includes(state));

export interface TopOptions extends TargetOptions {
  json?: boolean;
}

interface Sample {
  at: string;
  /** Unfinished jobs, the newest first. */
  jobs: ShownJob[];
  workers: ShownWorker[];
  resources: ResourceStatus[];
  /** Null over a server, which does not show it. */
  database: DatabaseLoad | null;
}

export async function top(options: TopOptions): Promise<number> {
  return withPort(options, async (port) => {
    if (options.json) console.log(JSON.stringify(await takeSample(port)));
    else
      await showUntilOver(
        async () => ({ lines: sampleLines(port.description, await takeSample(port)), isOver: false }),
        false,
      );
    return 0;
  });
}

async function takeSample(port: JobPort): Promise<Sample> {
  const [listed, workers, resources, database] = await Promise.all([
    port.listJobs({ limit: SHOWN_JOBS, states: [...UNFINISHED] }),
    port.workers(),
    port.resources({ limit: SHOWN_RESOURCES }),
    port.database(),
  ]);
  const jobs = await Promise.all(listed.map(({ jobId }) => port.job(jobId)));
  return {
    at: new Date(wallClockMs()).toISOString(),
    jobs,
    workers: workers.filter(({ alive }) => alive),
    resources,
    database,
  };
}

function sampleLines(target: string, { at, jobs, workers, resources, database }: Sample): string[] {
  return [
    `${target}, ${at.slice(11, 19)} UTC, Ctrl-C to leave`,
    ...(database === null ? [] : [databaseLine(database)]),
    '',
    ...(jobs.length === 0 ? ['No unfinished jobs'] : jobTable(jobs, Date.parse(at))),
    '',
    ...(workers.length === 0 ? ['No workers'] : workerTable(workers)),
    ...(resources.length === 0 ? [] : ['', ...resourceTable(resources)]),
  ];
}

function databaseLine({ open, maxConnections, oldestTransactionMs }: DatabaseLoad): string {
  const oldest =
    oldestTransactionMs === null
      ? 'no open transaction'
      : `oldest transaction ${formatDuration(oldestTransactionMs)}`;
  return `Database: ${open} of ${maxConnections} connections, ${oldest}`;
}

function jobTable(jobs: readonly ShownJob[], nowMs: number): string[] {
  const ids = shortJobIds(jobs.map(({ jobId }) => jobId));
  return textTable(
    ['Job', 'Pipeline', 'State', 'Finished', 'Rows', 'Running', 'Failed', 'Rate', 'Expected'],
    jobs.map(({ jobId, pipeline, state, counts, itemCount, unfinished, perSecond, eta, ...job }) => [
      ids.get(jobId)!,
      pipeline,
      state,
      formatCount(itemCount - counts.PENDING - counts.PROCESSING),
      formatCount(itemCount),
      formatCount(unfinished?.running ?? 0),
      formatCount(counts.ERROR),
      perSecond === null ? '-' : formatRate(perSecond),
      eta === null
        ? printable(job.pausedBecause ?? job.blockedBecause ?? job.etaUnknownBecause ?? '-')
        : etaWords({
            lowMs: Math.max(0, Date.parse(eta.low) - nowMs),
            highMs: eta.high === null ? null : Math.max(0, Date.parse(eta.high) - nowMs),
          }),
    ]),
    { drop: ['Failed', 'Running', 'State', 'Pipeline'] },
  );
}

function workerTable(workers: readonly ShownWorker[]): string[] {
  return textTable(
    ['Worker', 'Busy', 'Slots', 'Queued', 'Waiting', 'Pressure'],
    workers.map(({ name, pools, pressure }) => {
      const sum = (of: (pool: ShownWorker['pools'][number]) => number): string =>
        formatCount(pools.reduce((total, pool) => total + of(pool), 0));
      return [
        name,
        sum(({ busy }) => busy),
        sum(({ busy, idle }) => busy + idle),
        sum(({ queued }) => queued),
        sum(({ waiting }) => waiting),
        pressure === null ? '-' : `${Math.round(pressure.share * 100)}% (${pressure.reason})`,
      ];
    }),
    { drop: ['Waiting', 'Queued'] },
  );
}
