// rowmill rows rerun <job>: reruns rows of a finished job, as its next generation (docs/control.md).
import { readFileSync } from 'node:fs';
import { seqOfRow } from '../../contract/row-number.ts';
import type { ItemStatus } from '../../core/items/outcome.ts';
import { parseSeqList } from '../../core/items/parse-seq-list.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { SeqRanges } from '../../core/items/seq-ranges.ts';
import type { InputEdit } from '../../engine/reprocess/check-edits.ts';
import type { ReprocessRequest } from '../../engine/reprocess/reprocess-job.ts';
import type { OpenedGeneration } from '../../store/commands/jobs/open-generation.ts';
import { rows } from '../describe-stop.ts';
import { printedCommand } from '../printed-command.ts';
import { printable } from '../progress-lines.ts';
import { chooseTarget, type TargetOptions } from '../remote/choose-target.ts';
import { ANY_ATTEMPTS, type ShownJob } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';

export interface ReprocessOptions extends TargetOptions, RowFilterOptions {
  all?: boolean;
  rows?: string;
  edits?: string;
  includePermanent?: boolean;
  maxAttempts?: number;
  resetAttempts?: boolean;
  from?: string;
  json?: boolean;
}

export async function reprocess(prefix: string, options: ReprocessOptions): Promise<number> {
  if (options.all && options.status) throw invalid('--all or --status, got both');
  if (options.maxAttempts !== undefined && options.resetAttempts)
    throw invalid('--max-attempts or --reset-attempts, got both');
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const opened = await port.reprocess(job.jobId, requestOf(options, job));
    if (options.json) console.log(JSON.stringify({ jobId: job.jobId, ...opened }));
    else for (const line of describe(job, opened, options)) console.log(line);
    return 0;
  });
}

function requestOf(options: ReprocessOptions, job: ShownJob): ReprocessRequest {
  const { statuses, ...filter } = rowFilterOf(options, job);
  return {
    ...filter,
    ...(options.all ? { statuses: 'all' } : statuses && { statuses: statuses as readonly ItemStatus[] }),
    ...(options.rows !== undefined && { seqs: parseRows(options.rows) }),
    ...(options.edits !== undefined && { edits: readEdits(options.edits) }),
    ...(options.includePermanent && { includePermanent: true }),
    ...(options.maxAttempts !== undefined && { maxAttempts: options.maxAttempts }),
    ...(options.resetAttempts && { maxAttempts: ANY_ATTEMPTS }),
    ...(options.from !== undefined && { from: options.from }),
  };
}

function parseRows(text: string): SeqRanges {
  const rowsGiven = parseSeqList(text);
  if (rowsGiven === null || rowsGiven[0]![0] < 1)
    throw invalid(`rows such as 1-100,251, counted from 1, got ${text}`);
  return rowsGiven.map(([from, to]) => [seqOfRow(from), seqOfRow(to)] as const);
}

function readEdits(path: string): InputEdit[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RowmillError('FILE_INVALID', `cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
  return text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [parseEdit(line, index + 1)]));
}

function parseEdit(line: string, number: number): InputEdit {
  try {
    const { row, input, ...given } = JSON.parse(line) as InputEdit & { row?: number };
    const seq = row === undefined ? given.seq : seqOfRow(row);
    if (Number.isInteger(seq) && input !== undefined) return { seq, input };
  } catch {
    // Reported below.
  }
  throw invalid(`line ${number} of the edits to be {"row": …, "input": {…}}, got ${line.slice(0, 80)}`);
}

function* describe(
  job: ShownJob,
  { generation, selected, leftOut }: OpenedGeneration,
  where: TargetOptions,
): Generator<string> {
  yield `Job ${job.jobId}, run ${generation}: ${rows(selected)} waiting to rerun`;
  if (leftOut.permanent > 0)
    yield `  Left out: ${rows(leftOut.permanent)} with a permanent failure. ${again('--include-permanent')}`;
  if (leftOut.exhausted > 0)
    yield `  Left out: ${rows(leftOut.exhausted)} at the attempt limit. ${again('--reset-attempts')}`;
  if (job.state === 'PAUSED') yield '  The job is paused: the rows run after you resume it.';
  else if (chooseTarget(where).kind === 'api') yield '  A running worker takes them.';
  else {
    const words = ['run', `<module of ${printable(job.pipeline)}>`, '--resume', job.jobId, '--follow'];
    yield `  A running worker takes them. To run them here: ${printedCommand(words, where)}`;
  }
}

/** A job that runs cannot be reprocessed, so more rows have to wait for the end of the run. */
function again(option: string): string {
  return `To rerun them too, repeat this command with ${option} after this run has finished.`;
}

function invalid(expected: string): RowmillError {
  return new RowmillError('REPROCESS_INVALID', `expected ${expected}`);
}
