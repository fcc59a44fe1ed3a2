// Handlers for the job list, one job, and its summary.
import type { jobRoutes } from '../../contract/jobs.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { resourceStatus } from '../../core/limits/resource-status.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { controlOptions } from '../../engine/limits/sync-resources.ts';
import { jobsPage } from '../../store/views/jobs/jobs-page.ts';
import { readCreator } from '../../store/views/jobs/read-creator.ts';
import { findJobsByPrefix, type Job } from '../../store/views/jobs/read-job.ts';
import { readSummary } from '../../store/views/jobs/read-progress.ts';
import { listResources } from '../../store/views/limits/list-resources.ts';
import { cutPage } from '../answers/cut-page.ts';
import type { ApiContext } from '../api-context.ts';
import { type Actor, listedFor, seenBy } from '../requests/actor.ts';
import type { Handlers } from '../requests/handler.ts';
import { listedJobs, showJob } from './show-job.ts';
import { progressTimes } from './show-live-progress.ts';

const CURSOR = {
  list: 'jobs',
  sort: 'newest',
  key: ['time', 'uuid'],
} as const satisfies CursorKind;

/** Keys of one resource shown with a job. */
const KEYS_PER_RESOURCE = 20;

export const readJobHandlers: Handlers<
  Pick<typeof jobRoutes, 'listJobs' | 'findJobs' | 'getJob' | 'getSummary'>
> = {
  listJobs: async ({ actor, query }, { reads, engine }) => {
    const after = query.cursor === undefined ? null : decodeCursor(CURSOR, query.cursor);
    const rows = await jobsPage(reads, {
      owners: askedOwners(actor, query),
      states: query.states ?? null,
      pipeline: query.pipeline ?? null,
      search: query.search ?? null,
      needs: query.needs ?? null,
      silentMs: progressTimes(engine.settings).silentMs,
      after: after && { createdAt: after[0], jobId: after[1] },
      limit: query.limit + 1,
    });
    const toListed = await listedJobs({ db: reads, settings: engine.settings }, rows);
    return cutPage(rows, query.limit, toListed, CURSOR, (last) => [last.cursorTime, last.jobId]);
  },
  findJobs: async ({ actor, query: { prefix, limit } }, { reads }) => {
    const found = await findJobsByPrefix(reads, prefix, seenBy(actor), limit);
    return {
      items: found.map(({ jobId, name, pipeline, createdAt }) => ({
        ...{ jobId, name, pipeline, createdAt: createdAt.toISOString() },
      })),
    };
  },
  getJob: async ({ actor, job }, context) => {
    const { reads: db, engine } = context;
    const [shown, createdBy] = await Promise.all([
      showJob({ db, settings: engine.settings }, job, readLimits(context, job, seenBy(actor))),
      readCreator(db, job.jobId),
    ]);
    return { ...shown, createdBy };
  },
  getSummary: async ({ job, query }, { reads }) => {
    const { generation = job.generation } = query;
    const summary = generation <= job.generation ? await readSummary(reads, job.jobId, generation) : null;
    if (!summary)
      throw new RowmillError('SUMMARY_NOT_FOUND', `generation ${generation} of the job has not finished`);
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

/** An owner that the caller may not see yields an empty list. */
function askedOwners(
  actor: Actor,
  { ownerId, all }: { ownerId?: string | undefined; all?: boolean | undefined },
): readonly string[] | null {
  const listed = listedFor(actor, all);
  if (ownerId === undefined) return listed;
  return seenBy(actor)?.includes(ownerId) === false ? [] : [ownerId];
}

/** Resources that the job's pipeline declares, if this process knows the pipeline, without keys of other owners. */
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
