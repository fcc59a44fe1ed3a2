// Code blocks and commands of the documents, for the test that keeps them working.
import { readdirSync, readFileSync } from 'node:fs';
import { listFiles } from './read-sources.ts';

export interface Sample {
  /** From the repository: docs/client.md. */
  page: string;
  /** Line of the opening fence. */
  line: number;
  /** ts, sh, json …; empty for plain output. */
  language: string;
  code: string;
}

/** Documents at the root and in docs/. The changelog also names commands that are gone. */
export function listPages(): string[] {
  return [...readdirSync('.'), ...listFiles('docs')].filter(
    (path) => path.endsWith('.md') && path !== 'CHANGELOG.md',
  );
}

export function readBlocks(page: string): Sample[] {
  const text = readFileSync(page, 'utf8');
  return Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms), ({ 1: language, 2: code, index }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    language: language!,
    code: code!,
  }));
}

/** `rowmill …` in the sentences and tables of a page. */
export function readInlineCommands(page: string): Sample[] {
  const text = readFileSync(page, 'utf8').replace(/^```.*?^```$/gms, (block) => block.replace(/[^\n]/g, ''));
  return Array.from(text.matchAll(/`((?:npx )?rowmill [^`]+)`/g), ({ 1: code, index }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    language: 'sh',
    code: code!.replaceAll('\\|', '|').replace(/\s+/g, ' '),
  }));
}

/**
 * A page is a project as `rowmill init` writes it. A block that starts with `// name.ts` is the beginning of that file;
 * any other block continues the file before it. Line breaks keep the lines of the page, so that errors name them.
 */
export function modulesOf(blocks: readonly Sample[]): Map<string, string> {
  const modules = new Map<string, string>();
  let file = 'sample.ts';
  for (const { code, line } of blocks) {
    file = /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1] ?? file;
    const before = modules.get(file) ?? '';
    modules.set(file, before.padEnd(before.length + line + 1 - before.split('\n').length, '\n') + code);
  }
  return modules;
}

/** The simple commands of a shell script, as words. Quotes are removed; comments and redirections are left out. */
export function shellCommands(script: string): string[][] {
  const commands: string[][] = [[]];
  const token =
    /\s#[^\n]*|^#[^\n]*|\\\n|\n|\$\(|[|&;()]+|>+\s*\S+|(?:'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"|&;()])+/gm;
  for (const [found] of script.matchAll(token)) {
    if (/^\s?#/.test(found) || found === '\\\n' || found.startsWith('>')) continue;
    if (/^(\n|\$\(|[|&;()]+)$/.test(found)) commands.push([]);
    else commands.at(-1)!.push(found.replace(/^(['"])(.*)\1$/s, '$2'));
  }
  return commands.filter((words) => words.length > 0);
}
