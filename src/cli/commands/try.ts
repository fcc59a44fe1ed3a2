// rowmill try <pipeline> [row]: runs the handlers on one row, without a job, and shows what they did
// (docs/trying-rows.md).
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, posix, relative, resolve } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { exportNameOf, moduleOf } from '../../pipeline/load-pipelines.ts';
import { phasePlace } from '../../pipeline/phase-place.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import type { RowFixture } from '../../testing/row-fixture.ts';
import { EXIT } from '../exit-codes.ts';
import { choosePipeline } from '../load-pipeline.ts';
import { commandSettings } from '../open-server.ts';
import { printable } from '../progress-lines.ts';
import { chooseRow, type ChooseRowOptions, type ChosenRow } from '../try/choose-row.ts';
import type { RowTrace } from '../try/row-trace.ts';
import {
  describeOrigin,
  endLines,
  logLine,
  originLines,
  startLine,
  summaryLine,
} from '../try/trace-lines.ts';
import { tryRow, type TryObserver } from '../try/try-row.ts';

export interface TryOptions extends ChooseRowOptions {
  once?: boolean;
  fixture?: string;
  json?: boolean;
}

export async function tryOneRow(
  pipelineRef: string,
  given: string | undefined,
  options: TryOptions,
): Promise<number> {
  const restore = options.json ? handlersLogToStandardError() : () => {};
  try {
    const pipeline = await choosePipeline(pipelineRef);
    const settings = await commandSettings(options);
    const row = await chooseRow(pipeline, given, options, settings);
    if (options.fixture !== undefined) writeFixture(options.fixture, pipeline, row);
    const { once = false, json = false } = options;
    if (!json) print(originLines(pipeline.name, row.origin, row.input));
    const trace = await guarded((crashed) =>
      tryRow({
        ...row,
        pipeline,
        settings,
        once,
        blobs: openBlobStore(settings.blobStore),
        crashed,
        observer: json ? {} : printing(pipeline.costUnit, once),
      }),
    );
    if (json) process.stdout.write(`${JSON.stringify(toJson(pipeline, row, trace))}\n`);
    else {
      console.log(summaryLine(trace));
      if (options.fixture !== undefined) print(testLines(options.fixture, pipeline));
    }
    return trace.status === 'ERROR' || trace.status === 'RETRYING' ? EXIT.rowsFailed : EXIT.ok;
  } finally {
    restore();
  }
}

function printing(costUnit: string | null, once: boolean): TryObserver {
  return {
    started: (call) => console.log(`\n${startLine(call)}`),
    logged: (call, line) => console.log(logLine(call, line)),
    ended: (call) => print(endLines(call, costUnit, once)),
  };
}

function print(lines: Iterable<string>): void {
  for (const line of lines) console.log(line);
}

/** With --json only the trace goes to standard output. */
function handlersLogToStandardError(): () => void {
  const { log, info, debug } = console;
  Object.assign(console, { log: console.error, info: console.error, debug: console.error });
  return () => Object.assign(console, { log, info, debug });
}

/**
 * Runs handlers, which may crash or end the process. That would otherwise look like a defect of the command. `crashed`
 * resolves with an uncaught error; errors after the work are ignored, because the process exits then.
 */
async function guarded<Result>(work: (crashed: Promise<unknown>) => Promise<Result>): Promise<Result> {
  const crashed = new Promise<unknown>((resolve) => {
    process.on('uncaughtException', resolve);
  });
  const onExit = (code: number): void => {
    console.error(
      `The handler ended the process with code ${code}. A worker process would end as well, and Rowmill would run the row again in a new one.`,
    );
    process.exitCode = EXIT.rowsFailed;
  };
  process.on('exit', onExit);
  try {
    return await work(crashed);
  } finally {
    process.off('exit', onExit);
  }
}

function toJson(pipeline: Pipeline, { origin, input, params, start }: ChosenRow, trace: RowTrace): object {
  return {
    pipeline: pipeline.name,
    origin,
    input: JSON.parse(input) as unknown,
    params,
    startPhase: pipeline.phases[start.phase]!.name,
    ...trace,
  };
}

/** Written before the row runs, so that a row that crashes the process leaves its fixture. */
function writeFixture(path: string, pipeline: Pipeline, { origin, input, params, start }: ChosenRow): void {
  const fixture: RowFixture = {
    pipeline: pipeline.name,
    from: describeOrigin(origin),
    row: JSON.parse(input) as Record<string, unknown>,
    ...(Object.keys(params).length > 0 && { params }),
    ...(start.phase > 0 && { phase: pipeline.phases[start.phase]!.name }),
    ...fixtureOutputs(pipeline, start),
  };
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${JSON.stringify(fixture, null, 2)}\n`);
  } catch (cause) {
    throw new RowmillError('TRY_INVALID', `cannot write the fixture ${path}: ${(cause as Error).message}`, {
      hint: 'Name a file in a folder that you can write.',
      cause,
    });
  }
}

/** `previous` alone if no phase from the start on reads more. */
function fixtureOutputs(pipeline: Pipeline, { phase, outputs }: ChosenRow['start']): Partial<RowFixture> {
  const entries = Object.entries(outputs).map(([index, json]) => [Number(index), JSON.parse(json)] as const);
  if (entries.length === 0) return {};
  const readsMore = pipeline.phases.some(
    (_, index) => index >= phase && phasePlace(pipeline, index).readsOutputs,
  );
  if (!readsMore && outputs[phase - 1] !== undefined)
    return { previous: JSON.parse(outputs[phase - 1]!) as unknown };
  return {
    outputs: Object.fromEntries(entries.map(([index, value]) => [pipeline.phases[index]!.name, value])),
  };
}

/** A whole file, which runs as it is beside the fixture. */
function* testLines(path: string, pipeline: Pipeline): Generator<string> {
  const name = basename(path, '.json');
  const folder = relative(dirname(resolve(path)), dirname(moduleOf(pipeline)!));
  const module = JSON.stringify(posix.join(folder.replaceAll('\\', '/'), basename(moduleOf(pipeline)!)));
  yield '';
  yield `Fixture written to ${printable(path)}. As a test, in ${printable(join(dirname(path), `${name}.test.ts`))}:`;
  yield "  import assert from 'node:assert/strict';";
  yield "  import { test } from 'node:test';";
  yield "  import { runFixture } from 'rowmill/testing';";
  yield `  import ${importOf(pipeline)} from ${module.replace(/^"(?!\.)/, '"./')};`;
  yield '';
  yield `  test(${JSON.stringify(name)}, async () => {`;
  yield `    const { results } = await runFixture(pipeline, new URL(${JSON.stringify(`./${basename(path)}`)}, import.meta.url));`;
  yield '    const { status, error } = results[0]!;';
  yield "    assert.deepEqual({ status, error }, { status: 'DONE', error: null });";
  yield '  });';
}

function importOf(pipeline: Pipeline): string {
  const name = exportNameOf(pipeline)!;
  return name === 'default' ? 'pipeline' : `{ ${name} as pipeline }`;
}
