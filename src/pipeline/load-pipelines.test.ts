// Mistakes that newcomers make: each error names the module, and its hint says what to do.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { loadPipelines } from './load-pipelines.ts';

const definition = new URL('./define-pipeline.ts', import.meta.url).pathname;
const imports = `import { definePipeline } from '${definition}';\n`;
const pipeline = (name: string) =>
  `definePipeline({ name: '${name}', phases: [{ name: 'only', run: () => 1 }] })`;
let folder: string;

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'rowmill-load-')));
  mkdirSync(join(folder, 'folder.ts'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

async function failureOf(paths: string[]): Promise<{ message: string; hint: string; code: string }> {
  const error: unknown = await loadPipelines(paths).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RowmillError);
  const { message, hint, code } = error as RowmillError;
  return { message: message.replaceAll(`${folder}/`, ''), hint, code };
}

describe('a valid module', () => {
  it('yields its pipelines in order and without duplicates, whatever their export names', async () => {
    const one = write('one.ts', `${imports}export const a = ${pipeline('a')}; export default a;`);
    const two = write(
      'two.mjs',
      `${imports}export const b = ${pipeline('b')}; export { a } from './one.ts';`,
    );
    const names = (await loadPipelines([one, two, one])).map(({ name }) => name);
    expect(names).toEqual(['a', 'b']);
  });
});

describe('an invalid module', () => {
  it.each<
    [what: string, file: string, source: string | null, message: string | RegExp, hint: string | RegExp]
  >([
    [
      'is not there',
      'absent.ts',
      null,
      'there is no file absent.ts',
      /^Check the path: it is relative to \//,
    ],
    [
      'is a folder',
      'folder.ts',
      null,
      'folder.ts is a folder; expected a module with a pipeline',
      /folder\.ts\/pipeline\.ts$/,
    ],
    [
      'is a file of rows',
      'rows.csv',
      'a,b\n',
      /^rows\.csv is not a module/,
      /rowmill run pipeline\.ts rows\.csv$/,
    ],
    [
      'exports nothing',
      'nothing.ts',
      `${imports}const a = ${pipeline('a')};`,
      'nothing.ts exports nothing',
      /^Export the pipeline: export const/,
    ],
    [
      'exports a plain object',
      'plain.ts',
      'export default { name: "a", phases: [] };',
      'plain.ts exports default, which has phases but is not a pipeline',
      'Pass it to definePipeline and export the result.',
    ],
    [
      'exports a function that creates the pipeline',
      'function.ts',
      `${imports}export const make = () => ${pipeline('a')};`,
      'function.ts exports make, a function, but no pipeline',
      /not a function that calls it\.$/,
    ],
    [
      'exports something else',
      'other.ts',
      'export const a = 1, b = 2;',
      'other.ts exports a, b, but no pipeline',
      /^Export the result/,
    ],
    [
      'cannot be parsed',
      'syntax.ts',
      'export const a = {\n  run: () => ,\n};',
      'syntax.ts is not valid TypeScript: Unexpected token at line 2, column 14',
      'Correct the syntax there, or just before it.',
    ],
    [
      'imports a module that cannot be parsed',
      'imports-syntax.ts',
      'export * from "./syntax.ts";',
      /^imports-syntax\.ts cannot be loaded: .*syntax\.ts is not valid TypeScript: Unexpected token at line 2/,
      'Correct the syntax there, or just before it.',
    ],
    [
      'imports a package that is not installed',
      'package.ts',
      'import got from "@nobody/got-it/sub"; export const a = got;',
      'package.ts imports the package @nobody/got-it/sub, which is not installed',
      'Install it in the project of the pipeline: npm install @nobody/got-it',
    ],
    [
      'imports a file that does not exist',
      'relative.ts',
      'import { a } from "./nowhere.ts"; export { a };',
      'relative.ts imports ./nowhere.ts, which does not exist',
      'Correct the path: it is relative to the folder of relative.ts and ends in .ts or .js.',
    ],
    [
      'throws',
      'throws.ts',
      '\nthrow new Error("API_KEY is not set");',
      'throws.ts threw while it was loaded (line 2): API_KEY is not set',
      /^Correct it, or move code that may fail into a handler/,
    ],
    [
      'throws a value that is not an error',
      'text.ts',
      'throw undefined;',
      /^text\.ts threw while it was loaded: /,
      /^Correct it/,
    ],
    [
      'calls a function that Rowmill does not export',
      'typo.ts',
      `import { definePipelin } from '${definition}';\nexport const a = definePipelin({});`,
      'typo.ts threw while it was loaded (line 2): definePipelin is not a function',
      /^Correct it/,
    ],
    [
      'has an invalid schema',
      'schema.ts',
      `${imports}export const a = definePipeline({ name: 'a', input: { sku: 'text' }, phases: [] });`,
      'schema.ts: expected the input of pipeline a to be a Standard Schema such as z.object(…), got an object',
      /^Use zod/,
    ],
    [
      'has a handler that is not a function',
      'handler.ts',
      `${imports}export const a = definePipeline({ name: 'a', phases: [{ name: 'x', run: Promise.resolve() }] });`,
      'handler.ts: expected run of phase x of pipeline a to be a function, got an object',
      'Write run: async (row, context) => …, without calling it.',
    ],
    [
      'has two pipelines with one name',
      'twice.ts',
      `${imports}export const a = ${pipeline('same')}; export const b = ${pipeline('same')};`,
      'two pipelines are named same: a of twice.ts and b of twice.ts',
      /^Give each a different name/,
    ],
  ])('is refused with a hint: it %s', async (_, file, source, message, hint) => {
    const path = source === null ? join(folder, file) : write(file, source);
    const failure = await failureOf([path]);
    expect(failure.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
    expect(failure.hint).toEqual(typeof hint === 'string' ? hint : expect.stringMatching(hint));
    expect(failure.code).toMatch(/^PIPELINE_(INVALID|NOT_FOUND)$/);
  });

  it('is refused if another module has the same pipeline name', async () => {
    const first = write('first.ts', `${imports}export const a = ${pipeline('same')};`);
    const second = write('second.ts', `${imports}export default ${pipeline('same')};`);
    expect((await failureOf([first, second])).message).toBe(
      'two pipelines are named same: a of first.ts and default of second.ts',
    );
  });
});
