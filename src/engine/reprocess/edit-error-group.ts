// Applies one change to the input of every row of an error group, and opens a generation that reruns the rows it
// changed. Rows that the change does not affect would fail again and are left out.
import { changeField, type FieldChange } from '../../core/items/change-field.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { OpenedGeneration } from '../../store/commands/jobs/open-generation.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { awaitFinished } from '../jobs/await-finished.ts';
import { type InputEdit, MAX_EDITS } from './check-edits.ts';
import { chosenRows } from './choose-seqs.ts';
import type { EngineContext } from '../engine-context.ts';
import { checkedGroups, type ErrorGroupSelection, failedRowsOf } from './error-group-selection.ts';
import { reprocessJob } from './reprocess-job.ts';

/** Maximum size of inputs held in memory. */
const MAX_BYTES = 64 * 1024 * 1024;
const SAMPLES = 5;

export interface EditErrorGroupRequest extends ErrorGroupSelection {
  change: FieldChange;
  ifGeneration?: number;
}

export interface GroupEdit {
  /** Rows that were checked, and how many of them the change affects. */
  rows: number;
  changed: number;
  /** The group has more rows than one edit can take. The others stay unchanged for the next edit. */
  more: boolean;
  samples: { seq: number; before: unknown; after: unknown }[];
}

/** Previews an edit. Nothing is changed. */
export async function previewGroupEdit(
  context: EngineContext,
  jobId: string,
  request: EditErrorGroupRequest,
): Promise<GroupEdit> {
  const job = await awaitFinished(context, jobId, request.ifGeneration);
  return (await findEdits(context, job, request)).found;
}

export async function editErrorGroup(
  context: EngineContext,
  jobId: string,
  request: EditErrorGroupRequest,
): Promise<OpenedGeneration & { unchanged: number; more: boolean }> {
  const job = await awaitFinished(context, jobId, request.ifGeneration);
  const { edits, found } = await findEdits(context, job, request);
  if (edits.length === 0)
    throw new RowmillError(
      'NOTHING_TO_REPROCESS',
      `the change affects none of the ${found.rows} rows of the group in job ${jobId}`,
    );
  const { change } = request;
  const opened = await reprocessJob(context, jobId, {
    edits,
    // The edits were computed from this generation.
    ifGeneration: job.generation,
    editedBy: { ...checkedGroups(request), change },
  });
  return { ...opened, unchanged: found.rows - found.changed, more: found.more };
}

async function findEdits(
  context: EngineContext,
  job: Job,
  request: EditErrorGroupRequest,
): Promise<{ edits: InputEdit[]; found: GroupEdit }> {
  const { change } = request;
  const filter = failedRowsOf(checkedGroups(request));
  if (job.keyColumns.includes(change.field))
    throw new RowmillError(
      'REPROCESS_INVALID',
      `expected a field other than ${change.field}, which identifies the row`,
    );
  const edits: InputEdit[] = [];
  const found: GroupEdit = { rows: 0, changed: 0, more: false, samples: [] };
  let bytes = 0;
  for await (const page of chosenRows(context, job, filter))
    for (const { seq, inputJson } of page) {
      if (edits.length >= MAX_EDITS || bytes >= MAX_BYTES) return { edits, found: { ...found, more: true } };
      const before = JSON.parse(inputJson) as Record<string, unknown>;
      const input = changeField(before, change);
      found.rows += 1;
      if (!input) continue;
      found.changed += 1;
      bytes += inputJson.length;
      edits.push({ seq, input });
      const { field } = change;
      const known = Object.hasOwn(before, field) ? before[field] : null;
      if (found.samples.length < SAMPLES) found.samples.push({ seq, before: known, after: input[field] });
    }
  return { edits, found };
}
