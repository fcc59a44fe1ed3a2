// Samples in the documents work as they are: TypeScript compiles, commands and their options exist, requests have their
// headers, JSON parses.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CommandNode } from '../src/cli/command-tree.ts';
import { projectFiles } from '../src/cli/project-files.ts';
import { ROUTES } from '../src/contract/routes.ts';
import {
  listPages,
  modulesOf,
  readBlocks,
  readInlineCommands,
  type Sample,
  shellCommands,
} from './support/read-samples.ts';

const pages = listPages();
const blocks = pages.flatMap(readBlocks);
const written = (language: string): Sample[] => blocks.filter((block) => block.language === language);
const at = ({ page, line }: Sample): string => `${page}:${line}`;

it('finds the samples', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/client.md']));
  for (const [language, least] of Object.entries({ ts: 15, sh: 12, json: 4 }))
    expect([language, written(language).length >= least]).toEqual([language, true]);
});

describe('TypeScript', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rowmill-samples-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('compiles in strict mode, all pages in one program', () => {
    for (const page of pages) {
      const ofPage = written('ts').filter((block) => block.page === page);
      if (ofPage.length === 0) continue;
      const project = join(folder, page.replace(/\.md$/, ''));
      mkdirSync(project, { recursive: true });
      cpSync('template/pipeline.ts', join(project, 'pipeline.ts'));
      for (const [file, code] of modulesOf(ofPage))
        writeFileSync(join(project, file), `${code}\nexport {};\n`);
    }
    // Shows that errors are reported.
    writeFileSync(
      join(folder, 'wrong.ts'),
      "import { openRowmill } from 'rowmill';\nopenRowmill({ url: '' });\n",
    );
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction');
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    const { compilerOptions } = JSON.parse(readFileSync('template/tsconfig.json', 'utf8')) as {
      compilerOptions: object;
    };
    const paths = {
      rowmill: [resolve('dist/index.d.ts')],
      'rowmill/client': [resolve('dist/client/index.d.ts')],
      'rowmill/ai': [resolve('dist/ai/index.d.ts')],
      'rowmill/testing': [resolve('dist/testing/index.d.ts')],
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, paths }, include: ['**/*.ts'] }),
    );
    const tsc = resolve('node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { cwd: folder, encoding: 'utf8' });
    const errors = stdout.split('\n').filter((line) => line !== '' && !line.startsWith(' '));
    expect(errors).toEqual([expect.stringMatching(/^wrong\.ts\(2,15\): error TS2353: /)]);
  });
});

describe('JSON', () => {
  it.each(written('json').map((sample) => [at(sample), sample.code]))('of %s parses', (_, code) => {
    expect(JSON.parse(code)).toBeTypeOf('object');
  });
});

describe('commands', () => {
  let nodes: CommandNode[];
  let scripts: string[];
  beforeAll(() => {
    const main = resolve('dist/cli/main.js');
    const json = execFileSync(process.execPath, [main, 'completion', 'json'], { encoding: 'utf8' });
    nodes = JSON.parse(json) as CommandNode[];
    const files = projectFiles({ name: 'new', rowmill: '*' });
    scripts = [readFileSync('package.json', 'utf8'), files['package.json']!].flatMap((text) =>
      Object.keys((JSON.parse(text) as { scripts: object }).scripts),
    );
  });

  /** Null when the command and its options exist. */
  function faultOf(words: readonly string[]): string | null {
    const from = words.findIndex((word) => !/^(npx|until|do|then|[A-Z_]+=.*)$/.test(word));
    const [program, ...rest] = words.slice(from);
    if (program === 'npm') {
      const script =
        rest[0] === 'run' ? rest.find((word, index) => index > 0 && !word.startsWith('-')) : undefined;
      return script === undefined || scripts.includes(script) ? null : `no script ${script}`;
    }
    if (program !== 'rowmill') return null;
    const depth = rest.findIndex(
      (word, index) =>
        !nodes.some((node) => node.words.join(' ') === [...rest.slice(0, index), word].join(' ')),
    );
    const path = depth === -1 ? rest : rest.slice(0, depth);
    const node = nodes.find((each) => each.words.join(' ') === path.join(' '))!;
    const behind = rest.slice(path.length);
    if (path.length === 0 && /^[a-z]/.test(behind[0] ?? '')) return `no command ${behind[0]}`;
    const known = node.options.flatMap(({ names }) => names);
    const unknown = behind
      .filter((word) => /^--?[a-z]/.test(word))
      .find((word) => !known.includes(word.split('=')[0]!));
    return unknown === undefined ? null : `no option ${unknown} of ${path.join(' ')}`;
  }

  it('and options exist', () => {
    const samples = [...written('sh'), ...pages.flatMap(readInlineCommands)];
    expect(samples.length).toBeGreaterThan(100);
    const wrong = samples.flatMap((sample) =>
      shellCommands(sample.code)
        .map(faultOf)
        .filter((fault) => fault !== null)
        .map((fault) => `${at(sample)}: ${fault}`),
    );
    expect(wrong).toEqual([]);
  });

  it('are marked as sh', () => {
    const plain = written('').filter(({ code }) => /^(npx |\$ )?(rowmill|curl|npm) /m.test(code));
    expect(plain.map(at)).toEqual([]);
  });

  it('that are wrong are noticed', () => {
    expect(faultOf(['npx', 'rowmill', 'jobs', 'export', 'a', '--out', 'b'])).toBeNull();
    expect(faultOf(['rowmill', 'export', 'a', '--out', 'b'])).toBe('no command export');
    expect(faultOf(['rowmill', 'exprt', 'a'])).toBe('no command exprt');
    expect(faultOf(['rowmill', 'resources', 'set', 'a', '--rat', '5'])).toBe(
      'no option --rat of resources set',
    );
    expect(faultOf(['npm', 'run', 'benhc'])).toBe('no script benhc');
  });
});

describe('requests with curl', () => {
  const requests = written('sh').flatMap((sample) => {
    const variables = Array.from(sample.code.matchAll(/^(\w+)="(.*)"$/gm));
    const code = variables.reduce(
      (text, [, name, value]) => text.replaceAll(`"$${name}"`, `"${value}"`),
      sample.code,
    );
    return shellCommands(code)
      .map((words) => words.slice(words.indexOf('curl')))
      .filter(([program]) => program === 'curl')
      .map((words) => [at(sample), words] as const);
  });

  it('are found', () => {
    expect(requests.length).toBeGreaterThan(5);
  });

  it.each(requests)('of %s name a route and have its headers', (_, words) => {
    const headers = words.filter((_each, index) => /^(-H|--header)$/.test(words[index - 1]!)).join('\n');
    const hasBody = words.some((word) => /^(-d|--data|--data-binary)$/.test(word));
    const isForm = words.includes('-F');
    const method = words[words.indexOf('-X') + 1 || words.length] ?? (hasBody || isForm ? 'POST' : 'GET');
    const path = words.map((word) => /(\/api\/[^?]*)/.exec(word)?.[1]).find((found) => found !== undefined);
    const plain = path!.replace('/api/v1/', '/api/');
    const route = Object.values(ROUTES).find(
      (each) => each.method === method && new RegExp(`^${each.path.replace(/:\w+/g, '[^/]+')}$`).test(plain),
    );
    expect(route, `${method} ${path}`).toBeDefined();
    if (route!.access !== 'open') expect(headers).toMatch(/^authorization: bearer /im);
    if (hasBody) expect(headers).toMatch(/^content-type: /im);
  });
});
