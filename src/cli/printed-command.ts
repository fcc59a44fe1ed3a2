// A command that a person can copy as it is printed: quoted for the shell, on the same database or server.
import { isRunByNpm } from '../platform/environment.ts';
import type { TargetOptions } from './remote/choose-target.ts';

export function printedCommand(words: readonly string[], where: TargetOptions = {}): string {
  const { api, databaseUrl, dataDir } = where;
  const all = [
    ...words,
    ...(api === undefined ? [] : ['--api', api]),
    ...(databaseUrl === undefined ? [] : ['--database-url', withoutPassword(databaseUrl)]),
    ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
  ];
  // A project's own copy is not on the path.
  return [isRunByNpm() ? 'npx rowmill' : 'rowmill', ...all.map(shellQuoted)].join(' ');
}

function shellQuoted(word: string): string {
  return /^[\w@%+=:,./#-]+$/.test(word) && !word.startsWith('#')
    ? word
    : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The terminal may be a log that others read. */
function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.password === '') return url;
  parsed.password = 'PASSWORD';
  return parsed.href;
}
