// A row in a file, with everything that its handlers need to repeat a run: `rowmill try --fixture` writes it, and
// `runFixture` runs it in a test.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nearestName } from '../core/errors/did-you-mean.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export interface RowFixture {
  /** Name of the pipeline. */
  pipeline: string;
  /** Where the row came from, for people. */
  from?: string;
  /** The row as it is stored, before the input schema parses it. */
  row: Record<string, unknown>;
  /** Parameters as handlers get them. */
  params?: Record<string, unknown>;
  /** Phase to start at. Default: the first. */
  phase?: string;
  /** Output of the phase before. */
  previous?: unknown;
  /** Outputs of all phases before, by name, for phases that read them. */
  outputs?: Record<string, unknown>;
}

const KEYS = ['pipeline', 'from', 'row', 'params', 'phase', 'previous', 'outputs'];

export function readFixture(file: string | URL): RowFixture {
  const path = typeof file === 'string' ? file : fileURLToPath(file);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw invalid(`cannot read the fixture ${path}: ${(cause as Error).message}`, cause);
  }
  let fixture: unknown;
  try {
    fixture = JSON.parse(text);
  } catch (cause) {
    throw invalid(`the fixture ${path} is not valid JSON: ${(cause as Error).message}`, cause);
  }
  return checkFixture(fixture, path);
}

function checkFixture(fixture: unknown, path: string): RowFixture {
  if (!isObject(fixture)) throw invalid(`expected the fixture ${path} to be a JSON object`);
  const unknown = Object.keys(fixture).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    const near = nearestName(unknown, KEYS);
    throw invalid(
      `the fixture ${path} has an unknown key ${unknown}${near === null ? '' : `; did you mean ${near}?`}`,
    );
  }
  const { pipeline, row, params = {}, phase = '', outputs = {} } = fixture;
  if (typeof pipeline !== 'string') throw invalid(`expected pipeline of the fixture ${path} to be a name`);
  if (!isObject(row)) throw invalid(`expected row of the fixture ${path} to be an object`);
  if (!isObject(params)) throw invalid(`expected params of the fixture ${path} to be an object`);
  if (!isObject(outputs)) throw invalid(`expected outputs of the fixture ${path} to be an object`);
  if (typeof phase !== 'string') throw invalid(`expected phase of the fixture ${path} to be a name`);
  return fixture as unknown as RowFixture;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string, cause?: unknown): RowmillError {
  return new RowmillError('TRY_INVALID', message, {
    hint: 'Write the fixture with `rowmill try <pipeline> … --fixture <file>`.',
    ...(cause !== undefined && { cause }),
  });
}
