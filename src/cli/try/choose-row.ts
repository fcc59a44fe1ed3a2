// Finds the row that `rowmill try` runs: in its argument, in a file, or in a job.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { EarlierOutputs } from '../../core/items/earlier-outputs.ts';
import { toRow } from '../../engine/items/add-items.ts';
import { readRowAt } from '../../ingest/read-row-at.ts';
import { checkParams } from '../../pipeline/check-params.ts';
import { firstPhaseOf } from '../../pipeline/phase-place.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Settings } from '../../platform/settings.ts';
import { phaseIndex } from '../../testing/run-fixture.ts';
import { type FileOptions, readFormatOptions } from '../file-options.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { ShownJob, StoredRow } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';

export interface ChooseRowOptions extends TargetOptions, FileOptions {
  row?: number;
  from?: string;
  phase?: string;
  previous?: string;
  params?: object;
}

/** Rows are counted from 1; `seq` counts from 0. */
export type RowOrigin =
  | { kind: 'argument' }
  | { kind: 'file'; file: string; row: number; line: number; repair: string | null }
  | { kind: 'job'; jobId: string; row: number; seq: number; edited: boolean; stored: StoredRow['outcome'] };

export interface ChosenRow {
  origin: RowOrigin;
  /** The row as stored JSON. */
  input: string;
  params: Record<string, unknown>;
  seq: number;
  start: { phase: number; outputs: EarlierOutputs };
}

export async function chooseRow(
  pipeline: Pipeline,
  given: string | undefined,
  options: ChooseRowOptions,
  settings: Settings,
): Promise<ChosenRow> {
  if (options.from !== undefined) {
    if (given !== undefined)
      throw invalid(`expected a row or --from, got both: ${given}`, 'The job already has its rows.');
    return rowOfJob(pipeline, options.from, options);
  }
  if (given === undefined)
    throw invalid(
      'expected a row to try',
      `Give it as JSON, as a file, or as a row of a job: rowmill try <pipeline> '{"sku":"A-1"}', rowmill try <pipeline> rows.csv --row 17, or rowmill try <pipeline> --from <job> --row 17`,
    );
  const phase = phaseIndex(pipeline, options.phase);
  const start = { phase, outputs: givenPrevious(options, phase) };
  if (phase > firstPhaseOf(pipeline.phases, pipeline.phases[phase]!.kind) && options.previous === undefined)
    throw invalid(
      `phase ${options.phase} needs the output of phase ${pipeline.phases[phase - 1]!.name}`,
      "Give it as JSON: --previous '{…}'. A row of a job (--from) has it stored.",
    );
  const params = await givenParams(pipeline, options);
  if (/^\s*[[{]/.test(given)) {
    if (options.row !== undefined)
      throw invalid('expected --row with a file or with --from, got it with a row in JSON', 'Remove --row.');
    return { origin: { kind: 'argument' }, input: rowOfJson(given), params, seq: 0, start };
  }
  const { row = 1, map = {} } = options;
  const request = { path: given, row, format: readFormatOptions(options), mapping: map };
  const { json, line, repair } = await readRowAt(pipeline, request, settings);
  return {
    origin: { kind: 'file', file: given, row, line, repair },
    input: json,
    params,
    seq: row - 1,
    start,
  };
}

function rowOfJson(text: string): string {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (cause) {
    throw invalid(
      `the row is not valid JSON: ${(cause as Error).message}`,
      `Quote it for the shell: '{"sku":"A-1"}'`,
    );
  }
  if (Array.isArray(row))
    throw invalid('expected one row as a JSON object, got a list', `Give one row: '{"sku":"A-1"}'`);
  return toRow(row, 0).json;
}

async function rowOfJob(pipeline: Pipeline, prefix: string, options: ChooseRowOptions): Promise<ChosenRow> {
  const { row } = options;
  if (row === undefined)
    throw invalid('expected --row with --from', 'Name the row of the job, counted from 1: --row 17');
  const seq = row - 1;
  // The database is closed before a handler runs: a try that is killed leaves nothing in it.
  const { job, stored } = await withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    checkJob(job, pipeline, row);
    return { job, stored: await port.storedRow(job.jobId, seq) };
  });
  const phase = options.phase === undefined ? stored.startPhase : phaseIndex(pipeline, options.phase);
  return {
    origin: {
      kind: 'job',
      jobId: job.jobId,
      row,
      seq,
      edited: stored.inputSince > 0,
      stored: stored.outcome,
    },
    input: toRow(stored.input, seq).json,
    params: options.params === undefined ? stored.params : await givenParams(pipeline, options),
    seq,
    start: {
      phase,
      outputs: {
        ...storedOutputs(pipeline, phase, { job, stored, row }, options.previous !== undefined),
        ...givenPrevious(options, phase),
      },
    },
  };
}

function checkJob({ jobId, pipeline: name, itemCount }: ShownJob, pipeline: Pipeline, row: number): void {
  if (name !== pipeline.name)
    throw new RowmillError('JOB_CONFLICT', `job ${jobId} belongs to pipeline ${name}, not ${pipeline.name}`, {
      hint: 'Name the pipeline the job was started with.',
    });
  if (row > itemCount) throw noSuchRow(jobId, row, itemCount);
}

export function noSuchRow(jobId: string, row: number, itemCount: number): RowmillError {
  return new RowmillError('ITEM_NOT_FOUND', `job ${jobId} has no row ${row}: it has ${itemCount} rows`, {
    hint: 'This command counts rows from 1; `rowmill rows list` counts them from 0.',
  });
}

/** The newest outputs of the phases before that were computed from the row's present input. */
function storedOutputs(
  { phases }: Pipeline,
  phase: number,
  { job, stored, row }: { job: ShownJob; stored: StoredRow; row: number },
  hasPrevious: boolean,
): EarlierOutputs {
  const outputs: Record<number, string> = {};
  const stages = stored.stages.toSorted((a, b) => a.generation - b.generation);
  for (const { phase: at, generation, output } of stages) {
    const index = phases.findIndex(({ name }) => name === job.phases[at]);
    if (index >= 0 && index < phase && generation >= stored.inputSince)
      outputs[index] = JSON.stringify(output);
  }
  if (phase === stored.startPhase || hasPrevious || outputs[phase - 1] !== undefined) return outputs;
  const before = phases[phase - 1]!.name;
  throw invalid(
    `row ${row} of job ${job.jobId} has no stored output of phase ${before}${stored.inputSince > 0 ? ' since its input was edited' : ''}`,
    `Start at an earlier phase, or give the output of ${before} as JSON: --previous '{…}'`,
  );
}

function givenPrevious({ previous, phase: name }: ChooseRowOptions, phase: number): EarlierOutputs {
  if (previous === undefined) return {};
  if (name === undefined)
    throw invalid('expected --phase with --previous', 'Name the phase that gets this output: --phase <name>');
  try {
    return { [phase - 1]: JSON.stringify(JSON.parse(previous)) };
  } catch (cause) {
    throw invalid(
      `--previous is not valid JSON: ${(cause as Error).message}`,
      `Quote it for the shell: --previous '{"id":7}'`,
    );
  }
}

/** As a job stores them, and handlers get them. */
async function givenParams(
  pipeline: Pipeline,
  { params }: ChooseRowOptions,
): Promise<Record<string, unknown>> {
  const checked = await checkParams(pipeline, params);
  return JSON.parse(JSON.stringify(checked)) as Record<string, unknown>;
}

export function invalid(message: string, hint: string): RowmillError {
  return new RowmillError('TRY_INVALID', message, { hint });
}
