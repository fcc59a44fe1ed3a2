// Every command has --json, and reports errors as JSON with it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CommandNode } from '../../src/cli/command-tree.ts';
import { newId } from '../../src/platform/random.ts';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;
const nodes = JSON.parse(
  execFileSync(process.execPath, [MAIN, 'completion', 'json'], { encoding: 'utf8' }),
) as CommandNode[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-json-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${LIBRARY}';
     export const echo = definePipeline({ name: 'echo', phases: [{ name: 'only', run: (row) => row }] });`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Commands that do something themselves, not only by their verbs. */
function leaves(): CommandNode[] {
  return nodes.filter(({ words, subcommands }) => subcommands.length === 0 && words.at(-1) !== 'help');
}

test('every command has --json, itself or from its noun', () => {
  expect(leaves().length).toBeGreaterThan(40);
  const hasJson = (node: CommandNode | undefined): boolean =>
    node?.options.some(({ names }) => names.includes('--json')) === true;
  const nounOf = ({ words }: CommandNode) =>
    nodes.find((node) => node.words.join(' ') === words.slice(0, -1).join(' '));
  const without = leaves().filter((node) => !hasJson(node) && !hasJson(nounOf(node)));
  expect(without.map(({ words }) => words.join(' '))).toEqual([]);
});

/** Arguments that make a command fail, where a database or a server that does not exist is not enough. */
const FAILING: Record<string, string[]> = {
  init: ['.'],
  completion: ['tcsh'],
  inspect: ['missing.csv'],
  logout: ['ftp://nowhere'],
  try: ['pipeline.ts', 'missing.csv'],
  'rows retry': ['0199a7c2', '1'],
  'jobs export': ['0199a7c2', '--out', 'out.csv'],
  'sources scan': ['pipeline.ts'],
  'sources watch': ['pipeline.ts'],
  run: ['pipeline.ts', 'missing.csv'],
};

test.each(leaves().map(({ words, usage }) => ({ name: words.join(' '), words, usage })))(
  '$name --json reports an error as one JSON object on standard output',
  async ({ name, words, usage }) => {
    const given = FAILING[name] ?? [...usage.matchAll(/<[^>]+>/g)].map(() => '0199a7c2');
    const where = {
      folder,
      databaseUrl: 'nonsense',
      environment: { ROWMILL_API: 'http://127.0.0.1:1', XDG_CONFIG_HOME: join(folder, 'nobody') },
    };
    const { code, stdout, stderr } = await runCommand(where, [...words, ...given, '--json']);
    expect([code === 0, stdout.trim().split('\n').length, stderr]).toEqual([false, 1, '']);
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: Record<string, string> };
    expect([ok, error.message, error.hint]).toEqual([false, expect.stringMatching(/./), expect.any(String)]);
    expect(error.code, error.message).toMatch(/^(?!INTERNAL_ERROR)[A-Z_]+$/);
  },
);

test('wrong usage is JSON with --json, and text without', async () => {
  for (const args of [['jobs', 'list', '--nosuch'], ['jobs', 'show'], ['nosuch']]) {
    const json = await runCommand({ folder }, [...args, '--json']);
    expect([json.code, json.stderr]).toEqual([2, '']);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, error: { code: 'USAGE_INVALID' } });
    const text = await runCommand({ folder }, args);
    expect([text.code, text.stdout, text.stderr]).toEqual([2, '', expect.stringMatching(/^error: /)]);
  }
});

test('run prints the job as JSON when it ends, with the file that it wrote', async () => {
  const file = `${newId()}.csv`;
  writeFileSync(join(folder, file), `n\n${file}\n2\n`);
  const where = { folder, databaseUrl: database.url };
  const { code, stdout } = await runCommand(where, ['run', 'pipeline.ts', file, '--out', 'o.csv', '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ state: 'DONE', itemCount: 2, counts: { DONE: 2 }, out: 'o.csv', rowsWritten: 2 },
  });
  const { jobId } = JSON.parse(stdout) as { jobId: string };
  const exported = await runCommand(where, ['jobs', 'export', jobId, '--out', 'p.csv', '--json']);
  expect(JSON.parse(exported.stdout)).toEqual({ jobId, path: 'p.csv', rows: 2 });
  const migrated = await runCommand(where, ['migrate', '--json']);
  expect(JSON.parse(migrated.stdout)).toMatchObject({ applied: [] });
});
