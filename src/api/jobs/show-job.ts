// A job as the API and the commands that read the database show it.
import type { z } from 'zod';
import type { job as jobSchema, listedJob } from '../../contract/jobs.ts';
import { blockedBecause } from '../../core/claims/ability.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { outcomeSoFar } from '../../core/jobs/job-outcome.ts';
import { CLAIMABLE_STATES } from '../../core/jobs/job-state.ts';
import { recentRate } from '../../core/jobs/recent-rate.ts';
import { slowBecause, slowSummary } from '../../core/jobs/slow-because.ts';
import { waitingReasons } from '../../core/jobs/waiting-reasons.ts';
import type { ResourceStatus } from '../../core/limits/resource-status.ts';
import type { Executor } from '../../platform/database.ts';
import type { Settings } from '../../platform/settings.ts';
import { readExportColumns } from '../../store/views/exports/read-export-columns.ts';
import { type JobCountColumns, type JobCounts, toCounts } from '../../store/views/jobs/job-counts.ts';
import type { ListedJobRow } from '../../store/views/jobs/jobs-page.ts';
import { listAbilities } from '../../store/views/jobs/list-abilities.ts';
import { listPressures } from '../../store/views/jobs/list-pressures.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { type PhaseProgress, readProgressOf } from '../../store/views/jobs/read-live-progress.ts';
import { readRunTime } from '../../store/views/jobs/read-run-time.ts';
import { readRetention } from '../../store/views/jobs/retention.ts';
import { readBudgets } from '../../store/views/limits/read-budgets.ts';
import { countSuspects } from '../../store/views/spans/count-suspects.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';
import { progressTimes, showLiveProgress, sumOf } from './show-live-progress.ts';

type ListedJob = z.infer<typeof listedJob>;
type ShownJob = z.infer<typeof jobSchema>;

interface JobReader {
  db: Executor;
  settings: Pick<Settings, 'heartbeatMs' | 'jobKeepDays' | 'jobRetentionMinMs'>;
}

/** True if rows wait, so the job is blocked unless some worker can run it. */
function mayBeBlocked({ state, pending }: ListedJobRow): boolean {
  return CLAIMABLE_STATES.includes(state) && pending > 0;
}

/** Converts the jobs of a page. Reads the workers once for all of them. */
export async function listedJobs(
  { db, settings }: JobReader,
  rows: readonly ListedJobRow[],
): Promise<(row: ListedJobRow) => ListedJob> {
  const abilities = rows.some(mayBeBlocked) ? await listAbilities(db, progressTimes(settings).silentMs) : [];
  return (row) => toListedJob(row, toCounts(row), mayBeBlocked(row) ? blockedBecause(abilities, row) : null);
}

/** Fields of a job in a list; a job that is shown alone has them too. */
function toListedJob(
  job: Omit<ListedJobRow, keyof JobCountColumns | 'cursorTime'>,
  counts: JobCounts,
  blocked: string | null,
): ListedJob {
  return {
    jobId: job.jobId,
    name: job.name,
    pipeline: job.pipeline,
    ownerId: job.ownerId,
    state: job.state,
    outcome: outcomeSoFar(job.state, counts),
    generation: job.generation,
    priority: job.priority,
    itemCount: job.itemCount,
    sealed: job.sealed,
    counts,
    ...recentRate(job.lastMinute, job.runningMs),
    cost: job.cost,
    costUnit: job.costUnit,
    pausedBecause: job.pausedBecause,
    blockedBecause: blocked,
    lastError: job.lastError,
    held: job.held,
    createdAt: job.createdAt.toISOString(),
    startedAt: timeOrNull(job.startedAt),
    finishedAt: timeOrNull(job.finishedAt),
  };
}

/**
 * Everything about a job that does not depend on the account. `ofServices` are the resource limits that it may wait
 * for.
 */
export async function showJob(
  { db, settings }: JobReader,
  job: Job,
  ofServices: Promise<readonly ResourceStatus[]>,
): Promise<Omit<ShownJob, 'createdBy'>> {
  const { jobId, generation } = job;
  const isOpen = CLAIMABLE_STATES.includes(job.state);
  const { silentMs } = progressTimes(settings);
  const [limits, live, budgets, columns, abilities, pressures, suspects, runMs, retention] =
    await Promise.all([
      ofServices,
      readProgressOf(db, jobId, progressTimes(settings)),
      readBudgets(db, jobId),
      readExportColumns(db, job, generation),
      isOpen ? listAbilities(db, silentMs) : null,
      isOpen ? listPressures(db, silentMs, job.pipeline) : null,
      isOpen ? countSuspects(db, jobId) : 0,
      job.finishedAt === null ? null : readRunTime(db, jobId),
      readRetention(db, jobId, settings),
    ]);
  if (!live || !retention) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const { phases } = live;
  const sum = (key: Parameters<typeof sumOf>[1]): number => sumOf(phases, key);
  const { counts, unfinished, eta, etaUnknownBecause, workers } = showLiveProgress(live);
  const blocked = abilities && sum('waiting') > 0 ? blockedBecause(abilities, job) : null;
  const listed = {
    ...job,
    itemCount: live.itemCount,
    sealed: job.sealedAt !== null,
    cost: sum('cost'),
    held: sum('held'),
    lastMinute: sum('endedLately'),
    runningMs: live.runningMs,
  };
  return {
    ...toListedJob(listed, counts, blocked),
    phases: job.phases,
    pipelineVersion: job.pipelineVersion,
    params: asJson(job.params),
    source: job.source && {
      kind: job.source.kind,
      name: job.source.name,
      bytes: job.source.bytes,
      sha256: job.source.sha256,
      detected: { ...job.source.detected },
    },
    columns: columns.input.map(({ key, header }) => ({ key, header })),
    resultColumns: [...columns.result],
    ingestReport: { ...job.ingestReport } as Record<string, number>,
    updatesJobId: job.updatesJobId,
    outputs: job.outputs,
    budget: job.budget,
    budgets: budgets.map((budget) => ({ ...budget })),
    retrying: sum('retrying'),
    limited: sum('limited'),
    endedThisRun: sum('endedThisRun'),
    retried: sum('retried'),
    fenced: sum('fenced'),
    workers,
    perPhase: phases.map(toPhase),
    unfinished,
    waitingBecause: waitingReasons(unfinished, {
      resources: limits,
      blockedBecause: blocked,
      pausedBecause: job.pausedBecause,
      isPaused: job.state === 'PAUSED',
    }),
    eta,
    etaUnknownBecause,
    limits: limits.map((limit) => ({ ...limit })),
    slowSummary: pressures && slowSummary(limits, pressures, suspects),
    slowBecause: pressures && slowBecause(limits, pressures, suspects),
    runMs,
    retention: { ...retention, expiresAt: timeOrNull(retention.expiresAt) },
    sealedAt: timeOrNull(job.sealedAt),
    cancelledAt: timeOrNull(job.cancelledAt),
  };
}

function toPhase(phase: PhaseProgress): ShownJob['perPhase'][number] {
  const { name, waiting, processing, done, error, notFound, skipped, advanced, retried, handlerMs } = phase;
  return { name, waiting, processing, done, error, notFound, skipped, advanced, retried, handlerMs };
}
