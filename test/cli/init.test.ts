// A new project: created, type-checked, tested and run with the package that npm packs.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERROR_REGISTRY } from '../../src/core/errors/error-registry.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { installPacked, pack } from '../support/packed-package.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const main = join(repository, 'dist/cli/main.js');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-init-'));
  // Like /root: the user that runs PostgreSQL cannot enter it.
  chmodSync(folder, 0o700);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const node = (args: string[], cwd = folder) => run(process.execPath, args, cwd);

function run(
  program: string,
  args: string[],
  cwd: string,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { ...bareEnvironment(), HOME: process.env.HOME };
  const child = spawn(program, args, { cwd, env });
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

const CONSUMER = `import { definePipeline, openRowmill, type Pipeline } from 'rowmill';
import { createClient } from 'rowmill/client';
import { runPipeline } from 'rowmill/testing';
const lengths: Pipeline = definePipeline({ name: 'lengths', phases: [{ name: 'measure', run: (row) => row }] });
console.log(lengths.name, typeof openRowmill, typeof createClient, typeof runPipeline);
`;
const REQUIRER = `import rowmill = require('rowmill');
import client = require('rowmill/client');
import testing = require('rowmill/testing');
const lengths: rowmill.Pipeline = rowmill.definePipeline({ name: 'lengths', phases: [{ name: 'measure', run: (row) => row }] });
console.log(lengths.name, typeof rowmill.openRowmill, typeof client.createClient, typeof testing.runPipeline);
`;

describe('a project with the packed package', () => {
  let tarball: string;
  let project: string;
  let scripts: Record<string, string>;

  /** `npm test`: a shell replaces the pattern with the names of files. */
  const runTests = () => run('sh', ['-c', scripts.test!], project);

  beforeAll(async () => {
    tarball = pack(repository, folder);
    project = join(folder, 'my prices');
    installPacked(tarball, project);
    const before = { name: 'mine', private: true, dependencies: { rowmill: 'file:../rowmill.tgz' } };
    writeFileSync(join(project, 'package.json'), JSON.stringify(before));
    const made = await node([join(project, 'node_modules/rowmill/dist/cli/main.js'), 'init'], project);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^Completed package\.json and created .*\n\nNext:\n {2}npm install\n/);
    const read = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(read).toMatchObject({
      ...before,
      dependencies: { ...before.dependencies, zod: expect.any(String) },
      devDependencies: { '@types/node': expect.any(String) },
    });
    scripts = read.scripts as Record<string, string>;
    expect(Object.keys(scripts).sort()).toEqual(['dev', 'start', 'test', 'try']);
    expect(scripts.try).toBe('rowmill try');
  });

  it('is built by npm pack and contains the pages that errors link to', () => {
    const { scripts: own } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(own.prepack).toContain('build');
    const hints = Object.values(ERROR_REGISTRY).map(({ hint }) => hint);
    const pages = new Set(hints.flatMap((hint) => hint.match(/docs\/[\w-]+\.md/g) ?? []));
    expect(pages.size).toBeGreaterThan(5);
    for (const page of [...pages, 'dist/web/index.html'])
      expect(existsSync(join(project, 'node_modules/rowmill', page)), page).toBe(true);
  });

  it.each([
    ['nodenext', { module: 'nodenext' }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }],
  ])('has correct types for %s, including those of the package', async (name, options) => {
    writeFileSync(join(project, 'consumer.mts'), CONSUMER);
    writeFileSync(join(project, 'requirer.cts'), REQUIRER);
    copyFileSync(join(repository, 'test/cli/typed-project.mts'), join(project, 'typed-project.mts'));
    const include = ['*.ts', '*.mts', ...(name === 'nodenext' ? ['*.cts'] : [])];
    const compilerOptions = { ...options, types: [], skipLibCheck: false, erasableSyntaxOnly: false };
    const config = `tsconfig.${name}.json`;
    writeFileSync(
      join(project, config),
      JSON.stringify({ extends: './tsconfig.json', compilerOptions, include }),
    );
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    expect(await node([tsc, '-p', config], project)).toMatchObject({ code: 0, stdout: '' });
  });

  it('exports the same to import and require', async () => {
    const names = `console.log(a.definePipeline === b.definePipeline, typeof c.createClient, typeof t.runPipeline, typeof ai.createAi)`;
    const from = `import * as a from 'rowmill'; import { createRequire } from 'node:module';
      const require = createRequire(process.cwd() + '/'); const b = require('rowmill');
      const c = require('rowmill/client'), t = require('rowmill/testing'), ai = require('rowmill/ai');
      require('rowmill/register'); ${names}`;
    expect(await node(['--input-type=module', '-e', from], project)).toEqual({
      code: 0,
      stdout: 'true function function function\n',
      stderr: '',
    });
  });

  it.each(['rowmill', 'rowmill/client', 'rowmill/testing', 'rowmill/ai', 'rowmill/register'])(
    'says in one sentence what to do where Node cannot require %s',
    async (name) => {
      // As before Node 20.19 and 22.12.
      const { code, stderr } = await node(
        ['--no-experimental-require-module', '-e', `require('${name}')`],
        project,
      );
      expect(code).toBe(1);
      expect(stderr).toContain(
        `Error: require('${name}') needs Node 20.19, 22.12 or newer, this is ${process.version}: update Node, or use await import('${name}')`,
      );
    },
  );

  it('passes publint and attw', async () => {
    const { messages } = await publint({ pkgDir: join(project, 'node_modules/rowmill'), strict: true });
    expect(messages).toEqual([]);
    const attw = join(repository, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    const { code, stdout } = await node([attw, tarball, '--no-color', '--no-emoji']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('No problems found')]);
  });

  it('compiles the samples of docs/writing-pipelines.md and passes their test', async () => {
    const page = readFileSync(join(repository, 'docs/writing-pipelines.md'), 'utf8');
    const samples = [...page.matchAll(/^```ts\n\/\/ (\S+)\n.*?^```/gms)];
    const textOf = (name: string) => samples.find(([, file]) => file === name)![0].replace(/^```.*\n?/gm, '');
    for (const name of ['prices.ts', 'offers.ts', 'crawl.ts'])
      writeFileSync(join(project, `shown-${name}`), textOf(name));
    writeFileSync(join(project, 'shown.test.ts'), textOf('overload.test.ts'));
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    expect(await node([tsc, '-p', 'tsconfig.json'], project)).toMatchObject({ code: 0, stdout: '' });
    const { code, stdout } = await runTests();
    expect(stdout).toContain('survives a service that is overloaded for a while');
    expect(stdout).toContain('fail 0');
    expect(code).toBe(0);
  });

  it('passes its own test', async () => {
    const { code, stdout } = await runTests();
    expect(stdout).toMatch(/pass [34]\n/);
    expect(code).toBe(0);
  });

  it('has a test that fails when the pipeline is wrong', async () => {
    const path = join(project, 'pipeline.ts');
    const right = readFileSync(path, 'utf8');
    writeFileSync(path, right.replace('row.price * previous.rate', 'row.price + previous.rate'));
    try {
      const { code, stdout } = await runTests();
      expect(stdout).toContain('fail 1');
      expect(code).toBe(1);
    } finally {
      writeFileSync(path, right);
    }
  });

  it('runs its pipeline on the embedded PostgreSQL and writes the results', async () => {
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

  it('serves the page with its pipeline and its sample file', async () => {
    const [program, ...args] = scripts.dev!.split(' ');
    expect(program).toBe('rowmill');
    const child = spawn(process.execPath, [main, ...args, '--port', '0'], {
      cwd: project,
      env: { ...bareEnvironment(), HOME: process.env.HOME },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let text = '';
        child.stderr.on('data', (chunk) => {
          text += String(chunk);
          const found = /API on (http:\S+)/.exec(text)?.[1];
          if (found) resolve(found);
        });
        void ended.then((code) => reject(new Error(`it ended with ${String(code)}: ${text}`)));
      });
      const read = async (path: string) => (await fetch(`${url}${path}`)).json();
      expect(await read('/api/pipelines')).toMatchObject({ items: [{ name: 'prices' }] });
      expect(await read('/api/configuration')).toMatchObject({ samples: ['rows.csv'] });
      const sample = await (await fetch(`${url}/api/samples/rows.csv`)).text();
      expect(sample).toBe(readFileSync(join(project, 'rows.csv'), 'utf8'));
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
  });

  it('is also created by the packed create-rowmill', async () => {
    const manifestIn = (path: string) =>
      JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
        version: string;
        dependencies: object;
        bin: Record<string, string>;
      };
    const source = join(repository, 'create-rowmill');
    const { version, dependencies } = manifestIn(source);
    expect([version, dependencies]).toEqual([
      manifestIn(repository).version,
      { rowmill: `^${manifestIn(repository).version}` },
    ]);
    const own = join(project, 'node_modules/create-rowmill');
    const packed = pack(source, folder);
    mkdirSync(own);
    execFileSync('tar', ['-xzf', packed, '-C', own, '--strip-components', '1']);
    expect(readdirSync(own).sort()).toEqual(['README.md', 'create.js', 'package.json']);
    const { bin } = manifestIn(own);
    const made = await node([join(own, bin['create-rowmill']!), 'created']);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(join(folder, 'created'))).toContain('rowmill.config.ts');
  });
});

describe('rowmill init', () => {
  it('accepts a folder that contains only a repository, and names the project after it', async () => {
    const target = join(folder, 'Under Git');
    mkdirSync(join(target, '.git'), { recursive: true });
    const { code, stdout } = await node([main, 'init', 'Under Git']);
    expect(code).toBe(0);
    expect(stdout).toContain('Next:\n  cd "Under Git" && npm install\n  npm test  ');
    expect(readdirSync(target).sort()).toEqual(
      [
        '.git',
        '.gitignore',
        'README.md',
        'package.json',
        'pipeline.test.ts',
        'pipeline.ts',
        'rowmill.config.ts',
        'rows.csv',
        'tsconfig.json',
      ].sort(),
    );
    expect(JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'))).toMatchObject({
      name: 'under-git',
      type: 'module',
      // This copy is a clone, not a release, so npm would not find its version.
      dependencies: { rowmill: `file:${resolve(repository)}` },
    });
  });

  it('refuses a folder that contains anything else', async () => {
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
