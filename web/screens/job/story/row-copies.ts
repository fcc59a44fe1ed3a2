// A row as text for other tools: JSON, a curl command, and a fixture of `rowmill try --fixture`.
import { versionedPath } from '../../../../src/contract/api-version.ts';
import type { ItemDetail, Job } from '../../../lib/job.ts';
import { rowNumber } from '../../../../src/contract/row-number.ts';
import type { Attempt } from './row-story.ts';

export function asJson(item: ItemDetail, attempts: readonly Attempt[]): string {
  return JSON.stringify({ ...item, trace: attempts }, null, 2);
}

/** Reads the row over the API. `server`: origin and base path of the page. */
export function asCurl(
  server: string,
  { jobId }: Pick<Job, 'jobId'>,
  { seq }: Pick<ItemDetail, 'seq'>,
): string {
  const url = `${server}${versionedPath(`/api/jobs/${jobId}/items/${seq}`)}`;
  return `curl -sS -H "Authorization: Bearer $ROWMILL_API_KEY" '${url.replaceAll("'", '%27')}'`;
}

export function asFixture(
  { pipeline, jobId, params }: Pick<Job, 'pipeline' | 'jobId' | 'params'>,
  { seq, input, edits }: Pick<ItemDetail, 'seq' | 'input' | 'edits'>,
): string {
  const isEdited = edits.length > 0;
  const hasParams = params !== null && typeof params === 'object' && Object.keys(params).length > 0;
  const fixture = {
    pipeline,
    from: `row ${rowNumber(seq)} of job ${jobId} (seq ${seq}${isEdited ? ', edited' : ''})`,
    row: input,
    ...(hasParams && { params }),
  };
  return `${JSON.stringify(fixture, null, 2)}\n`;
}
