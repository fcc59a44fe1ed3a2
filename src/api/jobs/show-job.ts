// A job as the API and the commands that read the database show it.
import type { z } from 'zod';
import type { job as jobSchema, listedJob } from '../../contract/jobs.ts';
import { blockedBecause } from '../../core/claims/ability.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { estimateEnd } from '../../core/jobs/estimate-end.ts';
import { outcomeSoFar } from '../../core/jobs/job-outcome.ts';
import { CLAIMABLE_STATES } from '../../core/jobs/job-state.ts';
import { rateWindowMs, recentRate } from '../../core/jobs/recent-rate.ts';
import { slowBecause } from '../../core/jobs/slow-because.ts';
import type { ResourceStatus } from '../../core/limits/resource-status.ts';
import { wallClockMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import type { Settings } from '../../platform/settings.ts';
import { readExportColumns } from '../../store/views/exports/read-export-columns.ts';
import { type JobCountColumns, type JobCounts, toCounts } from '../../store/views/jobs/job-counts.ts';
import type { ListedJobRow } from '../../store/views/jobs/jobs-page.ts';
import { listAbilities } from '../../store/views/jobs/list-abilities.ts';
import { listPressures } from '../../store/views/jobs/list-pressures.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { type PhaseCounts, readPhases } from '../../store/views/jobs/read-phases.ts';
import { readRunTime } from '../../store/views/jobs/read-run-time.ts';
import { readBudgets } from '../../store/views/limits/read-budgets.ts';
import { countSuspects } from '../../store/views/spans/count-suspects.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';

type ListedJob = z.infer<typeof listedJob>;
type ShownJob = z.infer<typeof jobSchema>;

interface JobReader {
  db: Executor;
  settings: Pick<Settings, 'heartbeatMs'>;
}

/** Window of the estimate if no row finished within the window of the rate. */
const LATELY_MS = 5 * 60_000;
/** Missed heartbeats after which a worker counts as gone. */
const SILENT_BEATS = 3;

/** True if rows wait, so the job is blocked unless some worker can run it. */
function mayBeBlocked({ state, pending }: ListedJobRow): boolean {
  return CLAIMABLE_STATES.includes(state) && pending > 0;
}

/** Converts the jobs of a page. Reads the workers once for all of them. */
export async function listedJobs(
  { db, settings }: JobReader,
  rows: readonly ListedJobRow[],
): Promise<(row: ListedJobRow) => ListedJob> {
  const abilities = rows.some(mayBeBlocked)
    ? await listAbilities(db, settings.heartbeatMs * SILENT_BEATS)
    : [];
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
  const silentMs = settings.heartbeatMs * SILENT_BEATS;
  const [limits, phases, budgets, columns, abilities, pressures, suspects, runMs] = await Promise.all([
    ofServices,
    readPhases(db, jobId, LATELY_MS),
    readBudgets(db, jobId),
    readExportColumns(db, job, generation),
    isOpen ? listAbilities(db, silentMs) : null,
    isOpen ? listPressures(db, silentMs, job.pipeline) : null,
    isOpen ? countSuspects(db, jobId) : 0,
    job.finishedAt === null ? null : readRunTime(db, jobId),
  ]);
  const [first] = phases;
  if (!first) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const sum = (key: Exclude<keyof PhaseCounts, 'name' | 'runningMs'>): number =>
    phases.reduce((total, phase) => total + phase[key], 0);
  const blocked = abilities && sum('waiting') > 0 ? blockedBecause(abilities, job) : null;
  const counts = toCounts({
    pending: sum('waiting'),
    processing: sum('processing'),
    done: sum('done'),
    error: sum('error'),
    notFound: sum('notFound'),
    skipped: sum('skipped'),
    cancelled: sum('cancelled'),
  });
  const listed = {
    ...job,
    itemCount: first.itemCount,
    sealed: job.sealedAt !== null,
    cost: sum('cost'),
    held: sum('held'),
    lastMinute: sum('lastMinute'),
    runningMs: first.runningMs,
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
    workers: first.workers,
    perPhase: phases.map(toPhase),
    eta: blocked === null ? estimateOf(job, phases) : null,
    limits: limits.map((limit) => ({ ...limit })),
    slowBecause: pressures && slowBecause(limits, pressures, suspects),
    runMs,
    sealedAt: timeOrNull(job.sealedAt),
    cancelledAt: timeOrNull(job.cancelledAt),
  };
}

function toPhase(phase: PhaseCounts): ShownJob['perPhase'][number] {
  const { name, waiting, processing, done, error, notFound, skipped, advanced, retried, handlerMs } = phase;
  return { name, waiting, processing, done, error, notFound, skipped, advanced, retried, handlerMs };
}

/** Estimates the end of a running, sealed job at the rate shown with it, or at a longer-term rate if nothing moves. */
function estimateOf(job: Job, phases: readonly PhaseCounts[]): { at: string; basis: string } | null {
  if (job.sealedAt === null || !CLAIMABLE_STATES.includes(job.state)) return null;
  const isMoving = phases.some(({ movedLastMinute }) => movedLastMinute > 0);
  const end = estimateEnd(
    phases.map(({ waiting, processing, held, movedLastMinute, runningMs, lately, latelyMs }) => ({
      left: waiting - held + processing,
      ...(isMoving ? { lately: movedLastMinute, latelyMs: rateWindowMs(runningMs) } : { lately, latelyMs }),
    })),
  );
  return end && { at: new Date(wallClockMs() + end.inMs).toISOString(), basis: end.basis };
}
