// Reprocesses completed items of a finished or paused job: one transaction opens its next generation, in which the
// selected items wait again. Old results stay, and their counter contributions count until each item has a new
// result. A job that is being finalized is awaited, so that its generation gets its summary. A paused job stays
// paused: its waiting items continue in their own generation, and both generations get one summary.
import { checkExportFilter, type ExportFilter } from '../../core/files/export-filter.ts';
import { ITEM_STATUSES, type ItemStatus } from '../../core/items/outcome.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Transaction } from '../../platform/database.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { giveUpItems } from '../../store/commands/items/give-up-items.ts';
import { insertItemEdits } from '../../store/commands/items/insert-item-edits.ts';
import {
  insertGeneration,
  type OpenedGeneration,
  openGeneration,
} from '../../store/commands/jobs/open-generation.ts';
import { planByKey } from '../../store/commands/spans/plan-by-key.ts';
import { type Reopened, type ReopenRequest, reopenItems } from '../../store/commands/spans/reopen-items.ts';
import { findGeneration } from '../../store/views/jobs/find-generation.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { awaitFinished } from '../jobs/await-finished.ts';
import { type CheckedEdit, checkEdits, columnsOfEdits, type InputEdit } from './check-edits.ts';
import { chooseSeqs } from './choose-seqs.ts';
import type { EngineContext } from '../engine-context.ts';
import type { ErrorGroupSelection } from './error-group-selection.ts';
import { recordChange } from '../jobs/record-change.ts';

/** Seqs that one statement scans: half a million completed items take about three seconds. */
export const WINDOW_SEQS = 500_000;
const EDITS_AT_ONCE = 5000;

export interface ReprocessRequest extends Omit<ExportFilter, 'statuses'> {
  /** Default: ERROR and NOT_FOUND; every status if `seqs` are given. 'all' selects the whole job. */
  statuses?: readonly ItemStatus[] | 'all';
  /**
   * Items with a new input. They are selected regardless of their status; without any other filter, only they are.
   */
  edits?: readonly InputEdit[];
  /** Includes failures that would repeat: classes permanent and invalid. */
  includePermanent?: boolean;
  /** Leaves out items with this many attempts over all generations. Default: the setting reprocessMaxAttempts. */
  maxAttempts?: number;
  /** Phase at which all items start. Default: the phase where each failed; the first phase for successful items. */
  from?: string;
  /** Refuses if the job has a different generation by now, so a second click does not start a second run. */
  ifGeneration?: number;
  /** The change that produced the edits; stored with the generation. */
  editedBy?: ErrorGroupSelection & { change: { field: string } };
}

export async function reprocessJob(
  context: EngineContext,
  jobId: string,
  request: ReprocessRequest = {},
): Promise<OpenedGeneration> {
  const plan = await planReprocess(context, jobId, request);
  const requestId = newId();
  const report = await retryPassing(() =>
    context.db.transaction(
      async (tx) => {
        await planByKey(tx);
        const opened = await reopen(tx, requestId, plan);
        if (!opened.found)
          await recordChange(tx, context, {
            jobId,
            ...REPROCESSED,
            detail: { ...opened.report, ...editedDetail(request) },
          });
        return opened.report;
      },
      () => faultPoint('reprocess.before_commit'),
    ),
  );
  faultPoint('reprocess.after_commit');
  context.events.emit('job.reopened', { jobId, ...report });
  return report;
}

/** Decides which rows a request selects and how they run. Nothing is changed. */
export async function planReprocess(
  context: EngineContext,
  jobId: string,
  request: ReprocessRequest,
): Promise<Plan> {
  const { statuses = defaultStatuses(request), ...rest } = request;
  const filter = exportFilterOf(rest, statuses);
  const job = await awaitFinished(context, jobId, request.ifGeneration, 'taken');
  const startPhase = phaseIndex(job, request.from);
  const edits = await checkEdits(context, job, request.edits ?? []);
  const chosen = await chooseSeqs(context, job, filter);
  const base: Plan['base'] = {
    jobId,
    generation: job.generation + 1,
    statuses: statuses === 'all' ? ITEM_STATUSES : statuses,
    leaveOutPermanent: request.includePermanent !== true,
    maxAttempts: request.maxAttempts ?? context.settings.reprocessMaxAttempts,
    startPhase,
    except: edits.map((edit) => edit.seq),
  };
  const onlyEdits = edits.length > 0 && Object.keys(selectionOf(request)).length === 0;
  return { job, base, edits, chosen: onlyEdits ? [] : chosen, selection: storedSelection(request) };
}

export interface Plan {
  job: Job;
  base: Omit<ReopenRequest, 'fromSeq' | 'toSeq' | 'seqs'>;
  edits: CheckedEdit[];
  /** Null: the statuses alone decide. */
  chosen: number[] | null;
  selection: object;
}

const REPROCESSED = { kind: 'job.reprocessed', action: 'job.reprocess' };

/** `found`: an earlier try of this request opened the generation, and its COMMIT reply was lost. */
async function reopen(
  tx: Transaction,
  requestId: string,
  plan: Plan,
): Promise<{ report: OpenedGeneration; found: boolean }> {
  const { job, base, edits, chosen, selection } = plan;
  const { jobId, itemCount } = job;
  const { generation } = base;
  const columns = edits.length > 0 ? { columns: columnsOfEdits(edits) } : null;
  if (!(await openGeneration(tx, job, columns))) {
    const opened = await findGeneration(tx, jobId, generation, requestId);
    if (opened) return { report: opened, found: true };
    throw changedMeanwhile(jobId);
  }
  await endGivenUp(tx, job);
  for (let at = 0; at < edits.length; at += EDITS_AT_ONCE)
    await insertItemEdits(tx, jobId, generation, edits.slice(at, at + EDITS_AT_ONCE));
  const total: Reopened = { selected: 0, permanent: 0, exhausted: 0 };
  const take = async (part: Partial<ReopenRequest>): Promise<number> => {
    const taken = await reopenItems(tx, { ...base, fromSeq: 0, toSeq: itemCount, seqs: null, ...part });
    total.selected += taken.selected;
    total.permanent += taken.permanent;
    total.exhausted += taken.exhausted;
    return taken.selected;
  };
  if (edits.length > 0) {
    const seqs = edits.map((edit) => edit.seq);
    const all = { statuses: ITEM_STATUSES, leaveOutPermanent: false, maxAttempts: null, except: [] };
    const taken = await take({ ...all, seqs, startPhase: 0 });
    if (taken < edits.length)
      throw new RowmillError(
        'JOB_CONFLICT',
        `${edits.length - taken} of ${edits.length} edited rows of job ${jobId} have no result yet`,
        {
          hint: 'Edit only rows that have a result. Resume the job, and edit the others once they have one.',
        },
      );
  }
  if (chosen === null) {
    for (let fromSeq = 0; fromSeq < itemCount; fromSeq += WINDOW_SEQS)
      await take({ fromSeq, toSeq: Math.min(itemCount, fromSeq + WINDOW_SEQS) });
  } else {
    for (let at = 0; at < chosen.length; at += WINDOW_SEQS)
      await take({ seqs: chosen.slice(at, at + WINDOW_SEQS) });
  }
  const { selected, ...leftOut } = total;
  if (selected === 0) throw nothingToDo(jobId, leftOut);
  await insertGeneration(tx, { jobId, generation, requestId, selection, selected, leftOut });
  return { report: { generation, selected, leftOut }, found: false };
}

/** A file that could not be read left items that never ran. They get a result before their job is opened again. */
export async function endGivenUp(tx: Transaction, job: Job): Promise<void> {
  const { jobId, generation, state, sealedAt, itemCount } = job;
  if (state !== 'FAILED' || sealedAt !== null) return;
  for (let fromSeq = 0; fromSeq < itemCount; fromSeq += WINDOW_SEQS)
    await giveUpItems(tx, jobId, generation, fromSeq, Math.min(itemCount, fromSeq + WINDOW_SEQS));
}

export function changedMeanwhile(jobId: string): RowmillError {
  return new RowmillError(
    'JOB_CONFLICT',
    `job ${jobId} was reprocessed, resumed or cancelled at the same time`,
  );
}

function nothingToDo(jobId: string, { permanent, exhausted }: OpenedGeneration['leftOut']): RowmillError {
  const left = [
    permanent > 0 && `${permanent} failures are permanent`,
    exhausted > 0 && `${exhausted} items reached the attempt limit`,
  ].filter((part) => part !== false);
  const message = `no items of job ${jobId} were selected for reprocessing`;
  return new RowmillError(
    'NOTHING_TO_REPROCESS',
    left.length > 0 ? `${message}: ${left.join(', ')}` : message,
  );
}

function defaultStatuses({ seqs }: ReprocessRequest): readonly ItemStatus[] | 'all' {
  return seqs === undefined ? ['ERROR', 'NOT_FOUND'] : 'all';
}

/** The filters of a request; empty if none were given. */
function selectionOf(request: ReprocessRequest): object {
  const { statuses, phase, errorGroup, errorGroups, search, seqs } = request;
  const selection = { statuses, phase, errorGroup, errorGroups, search, seqs };
  return Object.fromEntries(Object.entries(selection).filter(([, value]) => value !== undefined));
}

function storedSelection(request: ReprocessRequest): object {
  const { includePermanent, maxAttempts, from, edits, editedBy } = request;
  return {
    ...selectionOf(request),
    ...(includePermanent && { includePermanent }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(from !== undefined && { from }),
    ...(edits && edits.length > 0 && { edited: edits.length }),
    ...editedBy,
  };
}

/** Values of rows do not appear in events for streams and webhooks. */
function editedDetail({ edits, editedBy }: ReprocessRequest): Record<string, unknown> {
  return editedBy ? { edited: edits?.length ?? 0, field: editedBy.change.field } : {};
}

function exportFilterOf(
  request: Omit<ReprocessRequest, 'statuses'>,
  statuses: readonly ItemStatus[] | 'all',
): ExportFilter {
  const { phase, errorGroup, errorGroups, search, seqs } = request;
  const filter: ExportFilter = {
    ...(statuses !== 'all' && { statuses }),
    ...(phase !== undefined && { phase }),
    ...(errorGroup !== undefined && { errorGroup }),
    ...(errorGroups !== undefined && { errorGroups }),
    ...(search !== undefined && { search }),
    ...(seqs !== undefined && { seqs }),
  };
  checkExportFilter(filter, 'REPROCESS_INVALID');
  for (const status of filter.statuses ?? []) {
    if (status === 'PENDING') throw invalid(`statuses to be of ${ITEM_STATUSES.join(', ')}`, status);
  }
  const { maxAttempts } = request;
  if (maxAttempts !== undefined && (!Number.isInteger(maxAttempts) || maxAttempts < 1))
    throw invalid('maxAttempts to be a whole number from 1', maxAttempts);
  return filter;
}

function invalid(expected: string, got: unknown): RowmillError {
  return new RowmillError('REPROCESS_INVALID', `expected ${expected}, got ${JSON.stringify(got)}`);
}

function phaseIndex(job: Job, name: string | undefined): number | null {
  if (name === undefined) return null;
  const index = job.phases.indexOf(name);
  if (index < 0) throw invalid(`from to be one of the phases ${job.phases.join(', ')}`, name);
  return index;
}
