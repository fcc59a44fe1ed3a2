// POST /api/jobs/:jobId/reprocess: turns a scope into a selection of rows.
import type { controlRoutes } from '../../contract/control.ts';
import type { BodyOf } from '../../contract/route.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { rangesOf } from '../../core/items/seq-ranges.ts';
import { previewReprocess } from '../../engine/reprocess/preview-reprocess.ts';
import { type ReprocessRequest, reprocessJob } from '../../engine/reprocess/reprocess-job.ts';
import { checkStorable } from '../requests/check-storable.ts';
import type { Handler } from '../requests/handler.ts';

type Body = BodyOf<typeof controlRoutes.reprocessJob>;
type Narrowing = 'itemIds' | 'statuses' | 'phase' | 'errorGroup' | 'errorGroups' | 'search';

/** Filters allowed with each scope. */
const ALLOWED: Record<Body['scope'], readonly Narrowing[]> = {
  job: ['statuses'],
  items: ['itemIds', 'statuses'],
  filter: ['statuses', 'phase', 'errorGroup', 'search'],
  errorGroup: ['errorGroup', 'errorGroups', 'statuses', 'phase', 'search'],
};
const REQUIRED: Partial<Record<Body['scope'], Narrowing>> = { items: 'itemIds', errorGroup: 'errorGroup' };
/**
 * Default statuses of scope `job`. Rows with any other status have to be requested explicitly, because running them
 * costs again.
 */
const FAILED = ['ERROR', 'NOT_FOUND'] as const;
/** Effectively no limit. */
const ANY_ATTEMPTS = 1_000_000_000;

export const reprocessRows: Handler<typeof controlRoutes.reprocessJob> = async (
  { engine, job, body },
  { notifier },
) => {
  const opened = await reprocessJob(engine, job.jobId, requestOf(body));
  await notifier.hint();
  return opened;
};

export const previewReprocessRows: Handler<typeof controlRoutes.previewReprocess> = (
  { engine, job, body },
  { reads },
) => previewReprocess(engine, reads, job.jobId, requestOf(body));

function requestOf(body: Body): ReprocessRequest {
  const { edits: _edits, ...selection } = body;
  checkStorable(selection);
  checkScope(body);
  const { scope, itemIds, statuses, phase, errorGroup, errorGroups, search, edits } = body;
  const { includePermanent, resetAttempts, from, ifGeneration } = body;
  return {
    // Edits select rows too; statuses add to that.
    ...(statuses ? { statuses } : scope === 'job' && { statuses: FAILED }),
    ...(itemIds !== undefined && { seqs: rangesOf(itemIds) }),
    ...(phase !== undefined && { phase }),
    ...(errorGroup !== undefined && { errorGroup }),
    ...(errorGroups !== undefined && { errorGroups }),
    ...(search !== undefined && { search }),
    ...(edits !== undefined && { edits }),
    ...(includePermanent !== undefined && { includePermanent }),
    ...(resetAttempts && { maxAttempts: ANY_ATTEMPTS }),
    ...(from !== undefined && { from }),
    ...(ifGeneration !== undefined && { ifGeneration }),
  };
}

function checkScope(body: Body): void {
  const { scope } = body;
  for (const name of ['itemIds', 'statuses', 'phase', 'errorGroup', 'errorGroups', 'search'] as const)
    if (body[name] !== undefined && !ALLOWED[scope].includes(name))
      throw new RowmillError('REPROCESS_INVALID', `${name} is not allowed with the scope ${scope}`);
  const required = REQUIRED[scope];
  // Edits already select their rows.
  const isChosen = scope === 'items' ? (body.edits?.length ?? 0) > 0 : body.errorGroups !== undefined;
  if (required !== undefined && body[required] === undefined && !isChosen)
    throw new RowmillError('REPROCESS_INVALID', `expected ${required} with the scope ${scope}`);
}
