// Runs a row that `rowmill try --fixture` wrote, in virtual time: a row that failed in production as a test.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EarlierOutputs } from '../core/items/earlier-outputs.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { PipelineRun } from './pipeline-run.ts';
import { type RowFixture, readFixture } from './row-fixture.ts';
import { type RunPipelineOptions, runRows } from './run-pipeline.ts';

export type RunFixtureOptions = Omit<RunPipelineOptions, 'params'>;

/** `fixture`: a path relative to the working directory, a URL, or the contents of the file. */
export async function runFixture<Row, Params, Result>(
  pipeline: Pipeline<Row, Params, Result>,
  fixture: string | URL | RowFixture,
  options: RunFixtureOptions = {},
): Promise<PipelineRun<Result>> {
  const given = typeof fixture === 'string' || fixture instanceof URL ? readFixture(fixture) : fixture;
  if (given.pipeline !== pipeline?.name)
    throw new RowmillError(
      'TRY_INVALID',
      `the fixture is of pipeline ${given.pipeline}, not of ${pipeline?.name}`,
      { hint: 'Pass the pipeline of the fixture to runFixture.' },
    );
  const phase = phaseIndex(pipeline, given.phase);
  const start = { phase, outputs: outputsOf(pipeline, phase, given) };
  // The parameters are parsed already, and a schema need not accept what it returns.
  const run = await runRows(pipeline, [given.row], given.params ?? {}, options, start);
  return run as PipelineRun<Result>;
}

function outputsOf(
  pipeline: Pipeline,
  phase: number,
  { previous, outputs = {} }: RowFixture,
): EarlierOutputs {
  const named = Object.entries(outputs).map(([name, output]) => [
    phaseIndex(pipeline, name),
    JSON.stringify(output),
  ]);
  return {
    ...(Object.fromEntries(named) as EarlierOutputs),
    ...(previous !== undefined && { [phase - 1]: JSON.stringify(previous) }),
  };
}

/** The first phase if none is named. */
export function phaseIndex({ name, phases }: Pipeline, wanted: string | undefined): number {
  if (wanted === undefined) return 0;
  const index = phases.findIndex((phase) => phase.name === wanted);
  if (index >= 0) return index;
  const names = phases.map((phase) => phase.name).join(', ');
  throw new RowmillError('TRY_INVALID', `pipeline ${name} has no phase ${wanted}; it has ${names}`, {
    hint: 'Name one of these phases.',
  });
}
