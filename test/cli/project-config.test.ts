// rowmill.config.ts: how commands find it, what they take from it, and how they report a mistake in it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { LIBRARY } from '../support/built-program.ts';
import { type EndedCommand, runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;

function pipelineModule(name: string): string {
  return `import { definePipeline } from '${LIBRARY}';
    export const ${name} = definePipeline({ name: '${name}', phases: [
      { name: 'measure', run: (row) => ({ length: (row as unknown as { text: string }).text.length }) } ] });`;
}

function write(path: string, text: string): void {
  writeFileSync(join(folder, path), text);
}

function writeConfig(code: string): void {
  write(
    'rowmill.config.ts',
    `import { defineConfig } from '${LIBRARY}'; export default defineConfig(${code});`,
  );
}

function rowmill(
  args: string[],
  { below = '', environment = {} }: { below?: string; environment?: Record<string, string> } = {},
): Promise<EndedCommand> {
  return runCommand({ folder: join(folder, below), databaseUrl: database.url, environment }, args);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-project-'));
  mkdirSync(join(folder, 'sub/deep'), { recursive: true });
  mkdirSync(join(folder, 'lengths'));
  write('lengths.ts', pipelineModule('lengths'));
  write('words.ts', pipelineModule('words'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => writeConfig(`{ pipelines: ['lengths.ts', './words.ts'] }`));

describe('a pipeline', () => {
  it('is found by its name, also from a folder below', async () => {
    write('sub/rows.csv', `text\nabc ${newId()}\n`);
    const { code, stderr } = await rowmill(['run', 'words', 'rows.csv', '--out', 'out.csv'], {
      below: 'sub',
    });
    expect([code, stderr]).toEqual([0, expect.stringContaining('Job ')]);
    expect(readFileSync(join(folder, 'sub/out.csv'), 'utf8')).toContain('DONE');
  });

  it('is found by its name although a folder has that name, and by its module', async () => {
    write('rows.csv', 'text\nabc\n');
    for (const reference of ['lengths', 'lengths.ts', './words.ts#words']) {
      const { code, stdout } = await rowmill(['inspect', 'rows.csv', '--pipeline', reference]);
      expect([reference, code, stdout]).toEqual([reference, 0, expect.stringContaining('column: text')]);
    }
  });

  it('with an unknown name is refused with the nearest one', async () => {
    const { code, stderr } = await rowmill(['run', 'lenghts', 'rows.csv'], { below: 'sub/deep' });
    expect(code).toBe(1);
    expect(stderr).toContain(
      'error: ../../rowmill.config.ts has no pipeline lenghts, did you mean lengths? [PIPELINE_NOT_FOUND]',
    );
  });

  it('needs a module where no configuration is found', async () => {
    rmSync(join(folder, 'rowmill.config.ts'));
    for (const [args, message] of [
      [['run', 'words', 'rows.csv'], 'there is no file words, and there is no rowmill.config.ts in'],
      [['worker'], 'expected a pipeline: there is no rowmill.config.ts in this folder or above it'],
    ] as const) {
      const { code, stderr } = await rowmill([...args]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});

describe('the search', () => {
  it('ends at the root of a repository', async () => {
    const below = 'repository/packages/one';
    mkdirSync(join(folder, below), { recursive: true });
    write('repository/.git', 'gitdir: elsewhere');
    const found = await rowmill(['inspect', '../../../rows.csv', '--pipeline', 'words'], { below });
    expect(found.stderr).toContain('there is no rowmill.config.ts in this folder or above it');
    write('repository/rowmill.config.ts', 'export default { pipelines: ["../words.ts"] };');
    write('rows.csv', 'text\nabc\n');
    const own = await rowmill(['inspect', '../../../rows.csv', '--pipeline', 'words'], { below });
    expect([own.code, own.stderr]).toEqual([0, '']);
  });
});

describe('settings', () => {
  /** Location of the blob store, as doctor prints it. */
  async function blobStore(
    args: string[],
    environment: Record<string, string>,
    below = 'sub',
  ): Promise<string> {
    const { stdout, stderr } = await rowmill(['doctor', '--max-jobs', '1', ...args], { below, environment });
    return /files in (?:.* )?(\S+)$/m.exec(stdout)?.[1] ?? stderr;
  }

  it('come from the configuration, unless a flag, the environment or the JSON file has them', async () => {
    const [file, json, variable, flag] = ['files', 'json', 'variable', 'flag'].map((name) =>
      join(folder, name),
    ) as [string, string, string, string];
    writeConfig(`{ settings: { blobStore: 'files' } }`);
    write('rowmill.json', JSON.stringify({ blobStore: json }));
    const named = { ROWMILL_CONFIG: join(folder, 'rowmill.json') };
    const both = { ...named, BLOB_STORE: variable };
    expect(await blobStore([], {})).toBe(file);
    expect(await blobStore([], named)).toBe(json);
    expect(await blobStore([], both)).toBe(variable);
    expect(await blobStore(['--set', `blobStore=${flag}`], both)).toBe(flag);
  });

  it('place the files of the embedded server beside the configuration', async () => {
    expect(await blobStore([], {}, 'sub/deep')).toBe(join(folder, '.rowmill/blobs'));
  });
});

describe('sources', () => {
  it('come from the configuration, with paths relative to it', async () => {
    mkdirSync(join(folder, 'incoming'), { recursive: true });
    const name = newId();
    write('incoming/rows.csv', `text\n${name}\n`);
    writeConfig(`{
      pipelines: ['words.ts'],
      sources: [{ name: '${name}', kind: 'folder', pipeline: 'words', path: 'incoming', stableMs: 0 }],
    }`);
    const { code, stdout, stderr } = await rowmill(['scan', '--json'], { below: 'sub' });
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({
      sources: [{ name, ok: true, taken: 1 }],
    });
  });

  it('that are wrong are reported with the name of the file', async () => {
    writeConfig(`{ pipelines: ['words.ts'], sources: [{ name: 'in', kind: 'foldr' }] as never }`);
    const { code, stderr } = await rowmill(['scan']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('error: rowmill.config.ts: expected sources[0].kind to be one of folder, s3'),
    ]);
  });

  it('are needed for a scan', async () => {
    const { code, stderr } = await rowmill(['scan']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('expected sources, got none')]);
  });
});

describe('a mistake in the configuration', () => {
  it.each([
    ['a syntax error', 'export default { pipelines: [ };', 'rowmill.config.ts is not valid TypeScript: '],
    [
      'an error of its code',
      'throw new Error("no");',
      'rowmill.config.ts threw while it was loaded (line 1)',
    ],
    ['a missing import', 'import "./gone.ts";', 'rowmill.config.ts imports ./gone.ts, which does not exist'],
    [
      'no default export',
      'export const pipelines = [];',
      'expected rowmill.config.ts to have a default export, got none',
    ],
    [
      'an unknown key',
      'export default { piplines: [] };',
      'unknown key in rowmill.config.ts: piplines, did you mean pipelines?',
    ],
    [
      'pipelines that are not paths',
      'export default { pipelines: { words: "words.ts" } };',
      'rowmill.config.ts: expected pipelines to be a list of module paths',
    ],
    [
      'a module that does not exist',
      'export default { pipelines: ["word.ts"] };',
      'rowmill.config.ts lists the pipeline module word.ts, which does not exist',
    ],
    [
      'a sample that does not exist',
      'export default { samples: ["row.csv"] };',
      'rowmill.config.ts lists the sample row.csv, which does not exist [FILE_NOT_FOUND]',
    ],
    [
      'an unknown setting',
      'export default { settings: { clamMax: 1 } };',
      'rowmill.config.ts: unknown setting: clamMax, did you mean claimMax?',
    ],
    [
      'a setting out of bounds',
      'export default { settings: { claimMax: 0 } };',
      'rowmill.config.ts: expected claimMax (CLAIM_MAX) to be a whole number from 1 to 100000, got 0',
    ],
  ])('such as %s is one error of every command, with the name of the file', async (_, code, message) => {
    write('rowmill.config.ts', code);
    for (const args of [['status'], ['run', 'words', 'rows.csv']]) {
      const ended = await rowmill(args);
      expect([ended.code, ended.stdout]).toEqual([1, '']);
      expect(ended.stderr.split('\n')[0]).toContain(`error: ${message}`);
      expect(ended.stderr).not.toContain('    at ');
    }
  });

  it('such as two pipelines of one name names both modules', async () => {
    write('again.ts', pipelineModule('words'));
    writeConfig(`{ pipelines: ['words.ts', 'again.ts'] }`);
    const { code, stderr } = await rowmill(['run', 'words', 'rows.csv']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('two pipelines are named words: words of words.ts and words of again.ts'),
    ]);
  });
});
