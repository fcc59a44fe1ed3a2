// Formats a command so that it can be copied: quoted for the shell, for the same database or server.
import { withoutPassword } from '../platform/database-servers.ts';
import { isRunByNpm } from '../platform/environment.ts';
import type { TargetOptions } from './remote/choose-target.ts';

export function printedCommand(words: readonly string[], where: TargetOptions = {}): string {
  const { api, databaseUrl, dataDir } = where;
  const all = [
    ...words,
    ...(api === undefined ? [] : ['--api', api]),
    // The output may end up in a log that others read.
    ...(databaseUrl === undefined ? [] : ['--database-url', withoutPassword(databaseUrl, 'PASSWORD')]),
    ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
  ];
  // A copy that is installed in a project is not on the path.
  return [isRunByNpm() ? 'npx rowmill' : 'rowmill', ...all.map(shellQuoted)].join(' ');
}

function shellQuoted(word: string): string {
  return /^[\w@%+=:,./#-]+$/.test(word) && !word.startsWith('#')
    ? word
    : `'${word.replaceAll("'", `'\\''`)}'`;
}
