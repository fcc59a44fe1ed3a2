// Jobs as they are listed and looked at.
import type { z } from 'zod';
import type { jobRoutes, job as jobSchema, listedJob } from '../../contract/jobs.ts';
import { type Ability, blockedBecause } from '../../core/claims/ability.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { estimateEnd } from '../../core/jobs/estimate-end.ts';
import { outcomeSoFar } from '../../core/jobs/job-outcome.ts';
import { CLAIMABLE_STATES } from '../../core/jobs/job-state.ts';
import { rateWindowMs, recentRate } from '../../core/jobs/recent-rate.ts';
import { resourceStatus } from '../../core/limits/resource-status.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { slowBecause } from '../../core/jobs/slow-because.ts';
import { controlOptions } from '../../engine/limits/sync-resources.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { countSuspects } from '../../store/views/spans/count-suspects.ts';
import { jobsPage, type ListedJobRow } from '../../store/views/jobs/jobs-page.ts';
import { listAbilities } from '../../store/views/jobs/list-abilities.ts';
import { listPressures } from '../../store/views/jobs/list-pressures.ts';
import { listResources } from '../../store/views/limits/list-resources.ts';
import { readBudgets } from '../../store/views/limits/read-budgets.ts';
import { readCreator } from '../../store/views/jobs/read-creator.ts';
import { readExportColumns } from '../../store/views/exports/read-export-columns.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { type PhaseCounts, readPhases } from '../../store/views/jobs/read-phases.ts';
import { readSummary } from '../../store/views/jobs/read-progress.ts';
import { type Actor, listedFor, seenBy } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';
import { cutPage } from '../answers/cut-page.ts';
import type { Handlers } from '../requests/handler.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';

const CURSOR = {
  list: 'jobs',
  sort: 'newest',
  key: ['time', 'uuid'],
} as const satisfies CursorKind;

/** Window of an estimate when nothing moved within the window of the rate. */
const LATELY_MS = 5 * 60_000;
/** Keys of one resource that are shown with a job. */
const KEYS_PER_RESOURCE = 20;
/** Heartbeats after which a worker that said nothing is taken for gone. */
const SILENT_BEATS = 3;

export const readJobHandlers: Handlers<Pick<typeof jobRoutes, 'listJobs' | 'getJob' | 'getSummary'>> = {
  listJobs: async ({ actor, query }, { reads, engine }) => {
    const after = query.cursor === undefined ? null : decodeCursor(CURSOR, query.cursor);
    const rows = await jobsPage(reads, {
      owners: askedOwners(actor, query),
      states: query.states ?? null,
      pipeline: query.pipeline ?? null,
      search: query.search ?? null,
      after: after && { createdAt: after[0], jobId: after[1] },
      limit: query.limit + 1,
    });
    // Who could run them is asked once for the page.
    const abilities = rows.some(mayBeBlocked)
      ? await listAbilities(reads, engine.settings.heartbeatMs * SILENT_BEATS)
      : [];
    const toListed = (row: ListedJobRow) => toListedJob(row, abilities);
    return cutPage(rows, query.limit, toListed, CURSOR, (last) => [last.cursor_time, last.job_id]);
  },
  getJob: ({ actor, job }, context) => describeJob(context, actor, job),
  getSummary: async ({ job, query }, { reads }) => {
    const { generation = job.generation } = query;
    const summary = generation <= job.generation ? await readSummary(reads, job.jobId, generation) : null;
    if (!summary)
      throw new RowmillError('SUMMARY_NOT_FOUND', `generation ${generation} of the job has not ended`);
    const { fencedCost: _, createdAt, phases, files, diff, ...rest } = summary;
    return {
      ...rest,
      phases: phases.map((phase) => ({ ...phase })),
      files: files.map((file) => ({ ...file })),
      diff: diff && { ...diff },
      createdAt: createdAt.toISOString(),
    };
  },
};

/** An owner that the caller may not see has no jobs. */
function askedOwners(
  actor: Actor,
  { ownerId, all }: { ownerId?: string | undefined; all?: boolean | undefined },
): readonly string[] | null {
  const listed = listedFor(actor, all);
  if (ownerId === undefined) return listed;
  return seenBy(actor)?.includes(ownerId) === false ? [] : [ownerId];
}

/** It waits for a worker, unless there is one that can run it. */
function mayBeBlocked({ state, pending }: ListedJobRow): boolean {
  return CLAIMABLE_STATES.includes(state) && pending > 0;
}

function toListedJob(row: ListedJobRow, abilities: readonly Ability[]): z.infer<typeof listedJob> {
  const { pipeline, pipeline_version: pipelineVersion, phases } = row;
  const wanted = { jobId: row.job_id, pipeline, pipelineVersion, phases };
  const counts = {
    PENDING: row.pending,
    PROCESSING: row.processing,
    DONE: row.done,
    ERROR: row.error,
    NOT_FOUND: row.not_found,
    SKIPPED: row.skipped,
    CANCELLED: row.cancelled,
  };
  return {
    jobId: row.job_id,
    name: row.name,
    pipeline,
    ownerId: row.owner_id,
    state: row.state,
    outcome: outcomeSoFar(row.state, counts),
    generation: row.generation,
    priority: row.priority,
    itemCount: row.item_count,
    sealed: row.sealed,
    counts,
    ...recentRate(row.last_minute, row.running_ms),
    cost: row.cost,
    pausedBecause: row.state === 'PAUSED' ? row.paused_because : null,
    blockedBecause: mayBeBlocked(row) ? blockedBecause(abilities, wanted) : null,
    lastError: row.last_error,
    held: row.held,
    createdAt: row.created_at.toISOString(),
    startedAt: timeOrNull(row.started_at),
    finishedAt: timeOrNull(row.finished_at),
  };
}

/** Everything about one job. */
export async function describeJob(
  context: ApiContext,
  actor: Actor,
  job: Job,
): Promise<z.infer<typeof jobSchema>> {
  const { reads: db, engine } = context;
  const { jobId, generation } = job;
  const isOpen = CLAIMABLE_STATES.includes(job.state);
  const silentMs = engine.settings.heartbeatMs * SILENT_BEATS;
  const [phases, budgets, columns, limits, abilities, pressures, suspects, createdBy] = await Promise.all([
    readPhases(db, jobId, LATELY_MS),
    readBudgets(db, jobId),
    readExportColumns(db, job, generation),
    readLimits(context, job, seenBy(actor)),
    isOpen ? listAbilities(db, silentMs) : null,
    isOpen ? listPressures(db, silentMs, job.pipeline) : null,
    isOpen ? countSuspects(db, jobId) : 0,
    readCreator(db, jobId),
  ]);
  const [first] = phases;
  if (!first) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const sum = (key: Exclude<keyof PhaseCounts, 'name' | 'runningMs'>): number =>
    phases.reduce((total, phase) => total + phase[key], 0);
  const blocked = abilities && sum('waiting') > 0 ? blockedBecause(abilities, job) : null;
  const counts = {
    PENDING: sum('waiting'),
    PROCESSING: sum('processing'),
    DONE: sum('done'),
    ERROR: sum('error'),
    NOT_FOUND: sum('notFound'),
    SKIPPED: sum('skipped'),
    CANCELLED: sum('cancelled'),
  };
  return {
    jobId,
    name: job.name,
    pipeline: job.pipeline,
    ownerId: job.ownerId,
    state: job.state,
    outcome: outcomeSoFar(job.state, counts),
    generation,
    priority: job.priority,
    itemCount: first.itemCount,
    sealed: job.sealedAt !== null,
    counts,
    ...recentRate(sum('lastMinute'), first.runningMs),
    cost: sum('cost'),
    pausedBecause: job.pausedBecause,
    createdAt: job.createdAt.toISOString(),
    startedAt: timeOrNull(job.startedAt),
    finishedAt: timeOrNull(job.finishedAt),
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
    held: sum('held'),
    retrying: sum('retrying'),
    limited: sum('limited'),
    endedThisRun: sum('endedThisRun'),
    retried: sum('retried'),
    fenced: sum('fenced'),
    workers: first.workers,
    perPhase: phases.map(toPhase),
    eta: blocked === null ? estimateOf(job, phases) : null,
    limits: limits.map((limit) => ({ ...limit })),
    blockedBecause: blocked,
    slowBecause: pressures && slowBecause(limits, pressures, suspects),
    lastError: job.lastError,
    sealedAt: timeOrNull(job.sealedAt),
    cancelledAt: timeOrNull(job.cancelledAt),
    createdBy,
  };
}

function toPhase(phase: PhaseCounts): z.infer<typeof jobSchema>['perPhase'][number] {
  const { name, waiting, processing, done, error, notFound, skipped, advanced, retried, handlerMs } = phase;
  return { name, waiting, processing, done, error, notFound, skipped, advanced, retried, handlerMs };
}

/** Estimate for a running job whose items are all stored, at the rate that is shown with it, as long as there is one. */
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

/** Resources that its pipeline declares, as far as this process knows it, without keys of other owners. */
async function readLimits(
  { reads, pipelines, engine: { settings } }: ApiContext,
  job: Job,
  owners: readonly string[] | null,
) {
  const pipeline =
    pipelines.find(({ name, version }) => name === job.pipeline && version === job.pipelineVersion) ??
    pipelines.find(({ name }) => name === job.pipeline);
  const names = Object.keys(pipeline?.resources ?? {});
  const stored = await Promise.all(
    names.map((name) => listResources(reads, name, KEYS_PER_RESOURCE, owners)),
  );
  return stored.flat().map((each) => resourceStatus(each, controlOptions(settings)));
}
