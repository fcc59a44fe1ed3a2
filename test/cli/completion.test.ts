// Completion in real shells, and docs/cli.md compared with the commands.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CommandNode } from '../../src/cli/command-tree.ts';
import { MAIN } from '../support/built-program.ts';

const completion = (shell: string): string =>
  execFileSync(process.execPath, [MAIN, 'completion', shell], { encoding: 'utf8' });

let nodes: CommandNode[];
beforeAll(() => {
  nodes = JSON.parse(completion('json')) as CommandNode[];
});

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

describe.runIf(has('bash'))('bash', () => {
  /** Completions for the last of these words. */
  function offered(...words: string[]): string[] {
    const script = `${completion('bash')}
COMP_WORDS=(rowmill "$@"); COMP_CWORD=$#
_rowmill
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((line) => line !== '');
  }

  test('offers commands, subcommands and their options', () => {
    expect(offered('r')).toEqual(['run', 'rows', 'resources', 'restore']);
    expect(offered('jobs', 're')).toEqual(['resume']);
    expect(offered('')).toEqual(expect.arrayContaining(['submit', 'jobs', 'login', 'completion']));
    expect(offered('resources', 's')).toEqual(['set']);
    expect(offered('resources', 'set', 'api', '--r')).toEqual(['--rate', '--resume']);
    expect(offered('jobs', 'export', '018f', '--un')).toEqual(['--unsuccessful']);
    expect(offered('keys', '--api', 'http://x', 'rev')).toEqual(['revoke']);
  });

  test('offers the choices of an option, and files for options without choices', () => {
    expect(offered('submit', '--format', 'x')).toEqual(['xlsx']);
    expect(offered('submit', '--map', 'completion.t')).toEqual(['completion.test.ts']);
    expect(offered('inspect', 'completion.t')).toEqual(['completion.test.ts']);
    expect(offered('completion', 'f')).toEqual(['fish']);
  });
});

test.runIf(has('zsh'))('zsh reads its script', () => {
  const { status, stderr } = spawnSync('zsh', [
    '-f',
    '-c',
    `autoload -U compinit; compinit -u -d /dev/null; ${completion('zsh')}`,
  ]);
  expect([status, String(stderr)]).toEqual([0, '']);
});

const FISH = 'fish';
test.runIf(has(FISH))('fish reads its script', () => {
  const { status, stderr } = spawnSync(FISH, ['--no-execute', '-c', completion('fish')]);
  expect([status, String(stderr)]).toEqual([0, '']);
});

test('the script for fish has every command and every option', () => {
  const script = completion('fish');
  for (const node of nodes) {
    for (const name of node.subcommands) expect(script).toContain(` -a ${name} -d `);
    for (const option of node.options)
      for (const name of option.names.filter((each) => each.startsWith('--')))
        expect(script).toContain(` -l ${name.slice(2)}`);
  }
});

test('former names are hidden and take the options of the verb', () => {
  const help = (...words: string[]): string =>
    execFileSync(process.execPath, [MAIN, ...words, '--help'], { encoding: 'utf8' }).replace(/^Usage.*/, '');
  const former = {
    watch: 'jobs watch',
    pause: 'jobs pause',
    resume: 'jobs resume',
    cancel: 'jobs cancel',
    errors: 'jobs errors',
    export: 'jobs export',
    items: 'rows list',
    reprocess: 'rows rerun',
    scan: 'sources scan',
  };
  expect(nodes[0]!.subcommands).toEqual(expect.arrayContaining(['jobs', 'rows', 'sources']));
  for (const [name, verb] of Object.entries(former)) {
    expect(nodes[0]!.subcommands).not.toContain(name);
    expect(help(name)).toBe(help(...verb.split(' ')));
  }
});

describe('docs/cli.md', () => {
  const text = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  /** Table rows by their heading: flags and descriptions. */
  const sections = new Map<string, { rows: string[][]; also: string[] }>();
  for (const part of text.split(/^#{2,3} /m).slice(1)) {
    const [heading, ...lines] = part.split('\n');
    const rows = lines
      .filter((line) => line.startsWith('| `-'))
      .map((line) =>
        line
          .slice(1, -1)
          .split(/(?<!\\)\|/)
          .map((cell) => cell.trim().replaceAll('\\|', '|')),
      );
    const also = /^Also: (.*)\.$/m.exec(part)?.[1]?.matchAll(/\[([^\]]+)\]/g) ?? [];
    sections.set(heading!.trim(), { rows, also: [...also].map((match) => match[1]!) });
  }

  test('lists exactly the commands that exist, with their arguments', () => {
    const documented = [...sections.keys()].filter((heading) => heading.startsWith('`rowmill'));
    const known = nodes
      .filter(({ words }) => words.length > 0 && words.at(-1) !== 'help')
      .map(({ words, usage }) => `\`${['rowmill', ...words, usage].join(' ').trim()}\``);
    expect(documented.sort()).toEqual(known.sort());
  });

  test('lists exactly the options of each command, with their descriptions', () => {
    for (const { words, usage, options } of nodes) {
      if (words.length === 0 || words.at(-1) === 'help') continue;
      const { rows, also } = sections.get(`\`${['rowmill', ...words, usage].join(' ').trim()}\``)!;
      const documented = [...rows, ...also.flatMap((name) => sections.get(name)!.rows)];
      const known = options
        .filter(({ names }) => !names.includes('--help'))
        .map(({ flags, description }) => [`\`${flags}\``, description]);
      expect([words, documented.sort()]).toEqual([words, known.sort()]);
    }
  });
});
