// A new project as a person gets it: made, checked, tested and run, with the built package linked into its node_modules.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bareEnvironment } from '../support/bare-environment.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const main = join(repository, 'dist/cli/main.js');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-init-'));
  // As /root is: the user as whom PostgreSQL runs cannot walk to it.
  chmodSync(folder, 0o700);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function node(
  args: string[],
  cwd = folder,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { ...bareEnvironment(), HOME: process.env.HOME };
  const child = spawn(process.execPath, args, { cwd, env });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
}

describe('a new project', () => {
  let project: string;
  let scripts: Record<string, string>;

  beforeAll(async () => {
    const made = await node([main, 'init', 'my prices', '--name', 'my-prices']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toContain('cd "my prices"\n  npm install\n  npm test\n  npm start');
    project = join(folder, 'my prices');
    const modules = join(project, 'node_modules');
    mkdirSync(join(modules, '@types'), { recursive: true });
    symlinkSync(repository, join(modules, 'rowmill'));
    symlinkSync(join(repository, 'node_modules/zod'), join(modules, 'zod'));
    symlinkSync(join(repository, 'node_modules/@types/node'), join(modules, '@types/node'));
    const read = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(read).toMatchObject({ name: 'my-prices', type: 'module' });
    scripts = read.scripts as Record<string, string>;
  });

  it('has correct types', async () => {
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    expect(await node([tsc, '-p', 'tsconfig.json'], project)).toMatchObject({ code: 0, stdout: '' });
  });

  it('makes what docs/writing-pipelines.md shows correct, and its test pass', async () => {
    const page = readFileSync(join(repository, 'docs/writing-pipelines.md'), 'utf8');
    const [definition, testing] = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => match[1]!);
    writeFileSync(join(project, 'shown.ts'), definition!);
    writeFileSync(join(project, 'shown.test.ts'), testing!);
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    expect(await node([tsc, '-p', 'tsconfig.json'], project)).toMatchObject({ code: 0, stdout: '' });
    const args = scripts.test!.replace('pipeline.test.ts', 'shown.test.ts').split(' ').slice(1);
    const { code, stdout } = await node(args, project);
    expect(stdout).toContain('pass 1');
    expect(code).toBe(0);
  });

  it('passes its own test, quickly', async () => {
    const [program, ...args] = scripts.test!.split(' ');
    expect(program).toBe('node');
    const { code, stdout } = await node(args, project);
    expect(stdout).toContain('pass 3');
    expect(code).toBe(0);
  });

  it('has a test that fails when the pipeline is wrong', async () => {
    const path = join(project, 'pipeline.ts');
    const right = readFileSync(path, 'utf8');
    writeFileSync(path, right.replace('row.price * previous.rate', 'row.price + previous.rate'));
    try {
      const { code, stdout } = await node(scripts.test!.split(' ').slice(1), project);
      expect(stdout).toContain('fail 1');
      expect(code).toBe(1);
    } finally {
      writeFileSync(path, right);
    }
  });

  it('runs its pipeline on the embedded PostgreSQL and leaves the results', async () => {
    const [program, ...args] = scripts.start!.split(' ');
    expect(program).toBe('rowmill');
    const { code, stdout, stderr } = await node([main, ...args], project);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('20 rows written to results.csv');
    const rows = parse(readFileSync(join(project, 'results.csv')), { columns: true, bom: true }) as Record<
      string,
      string
    >[];
    expect(rows).toHaveLength(20);
    expect(rows[0]).toMatchObject({ product: 'lamp', price: '10.50', currency: 'EUR', euros: '10.5' });
    expect(rows.filter((row) => Object.values(row).includes('NOT_FOUND'))).toEqual([
      expect.objectContaining({ currency: 'XXX' }),
    ]);
    expect(rows.filter((row) => Object.values(row).includes('DONE'))).toHaveLength(19);
  });
});

describe('rowmill init', () => {
  it('takes a folder that holds only a repository, and names the project after it', async () => {
    const target = join(folder, 'Under Git');
    mkdirSync(join(target, '.git'), { recursive: true });
    const { code, stdout } = await node([main, 'init'], target);
    expect(code).toBe(0);
    expect(stdout).not.toContain('cd ');
    expect(readdirSync(target).sort()).toEqual(
      [
        '.git',
        '.gitignore',
        'README.md',
        'package.json',
        'pipeline.test.ts',
        'pipeline.ts',
        'rows.csv',
        'tsconfig.json',
      ].sort(),
    );
    expect(readFileSync(join(target, 'package.json'), 'utf8')).toContain('"name": "under-git"');
  });

  it('leaves a folder alone that holds anything else', async () => {
    const target = join(folder, 'full');
    mkdirSync(target);
    writeFileSync(join(target, 'pipeline.ts'), 'mine');
    const { code, stderr } = await node([main, 'init', 'full']);
    expect(code).toBe(1);
    expect(stderr).toContain('to be empty, it holds pipeline.ts [PROJECT_INVALID]');
    expect(readdirSync(target)).toEqual(['pipeline.ts']);
    expect(readFileSync(join(target, 'pipeline.ts'), 'utf8')).toBe('mine');
  });

  it.each(['Has Spaces', '../up', '', '.hidden'])(
    'refuses the name %j before it writes anything',
    async (name) => {
      const { code, stderr } = await node([main, 'init', 'unnamed', '--name', name]);
      expect(code).toBe(1);
      expect(stderr).toContain('PROJECT_INVALID');
      expect(readdirSync(folder)).not.toContain('unnamed');
    },
  );

  it('refuses a path that is a file', async () => {
    writeFileSync(join(folder, 'file'), '');
    expect((await node([main, 'init', 'file'])).stderr).toContain('to be a folder, it is a file');
  });
});
