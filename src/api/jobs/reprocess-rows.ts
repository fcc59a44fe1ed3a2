// POST /api/jobs/:jobId/reprocess: which rows a scope means.
import type { controlRoutes } from '../../contract/control.ts';
import type { BodyOf } from '../../contract/route.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { rangesOf } from '../../core/items/seq-ranges.ts';
import { previewReprocess } from '../../engine/reprocess/preview-reprocess.ts';
import { type ReprocessRequest, reprocessJob } from '../../engine/reprocess/reprocess-job.ts';
import { checkStorable } from '../requests/check-storable.ts';
import type { Handler } from '../requests/handler.ts';

type Body = BodyOf<typeof controlRoutes.reprocessJob>;
type Narrowing = 'itemIds' | 'statuses' | 'phase' | 'errorGroup' | 'search';

/** What may narrow the choice down, per scope. */
const ALLOWED: Record<Body['scope'], readonly Narrowing[]> = {
  job: ['statuses'],
  items: ['itemIds', 'statuses'],
  filter: ['statuses', 'phase', 'errorGroup', 'search'],
  errorGroup: ['errorGroup', 'statuses', 'phase', 'search'],
};
const REQUIRED: Partial<Record<Body['scope'], Narrowing>> = { items: 'itemIds', errorGroup: 'errorGroup' };
/** Rows of scope `job` when no statuses are given. Every row has to be asked for by its status: it is paid again. */
const FAILED = ['ERROR', 'NOT_FOUND'] as const;
/** As good as no limit. */
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
  const { scope, itemIds, statuses, phase, errorGroup, search, edits } = body;
  const { includePermanent, resetAttempts, from, ifGeneration } = body;
  return {
    // A choice of its own, also beside edits.
    ...(statuses ? { statuses } : scope === 'job' && { statuses: FAILED }),
    ...(itemIds !== undefined && { seqs: rangesOf(itemIds) }),
    ...(phase !== undefined && { phase }),
    ...(errorGroup !== undefined && { errorGroup }),
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
  for (const name of ['itemIds', 'statuses', 'phase', 'errorGroup', 'search'] as const)
    if (body[name] !== undefined && !ALLOWED[scope].includes(name))
      throw new RowmillError('REPROCESS_INVALID', `expected ${name} not to be given with the scope ${scope}`);
  const required = REQUIRED[scope];
  // Rows with a corrected input are a choice of their own.
  const isChosen = scope === 'items' && (body.edits?.length ?? 0) > 0;
  if (required !== undefined && body[required] === undefined && !isChosen)
    throw new RowmillError('REPROCESS_INVALID', `expected ${required} with the scope ${scope}`);
}
