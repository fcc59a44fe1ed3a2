// Runs the compiled command line on a pseudo terminal, by the program `script` of util-linux.
import { spawn, spawnSync } from 'node:child_process';
import { bareEnvironment } from './bare-environment.ts';
import { MAIN } from './built-program.ts';
import type { CommandPlace } from './run-command.ts';

const SCRIPT = 'script';
export const hasTerminal = spawnSync(SCRIPT, ['-qec', 'true', '/dev/null']).status === 0;

export interface TerminalOptions {
  /** Typed once the screen contains `after`. */
  answer?: { after: string; type: string };
  columns?: number;
}

/** Both output streams are on the screen. */
export function runOnTerminal(
  { folder, databaseUrl, environment }: CommandPlace,
  args: readonly string[],
  { answer, columns = 80 }: TerminalOptions = {},
): Promise<{ code: number | null; screen: string }> {
  const command = [process.execPath, MAIN, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const line = `stty cols ${columns} rows 24; exec ${command.join(' ')}`;
  const child = spawn(SCRIPT, ['-qec', line, '/dev/null'], {
    cwd: folder,
    env: {
      ...bareEnvironment(),
      SHELL: '/bin/sh',
      TERM: 'xterm',
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      ...environment,
    },
  });
  let screen = '';
  let isAnswered = false;
  child.stdout.on('data', (chunk) => {
    screen += String(chunk);
    if (!answer || isAnswered || !screen.includes(answer.after)) return;
    isAnswered = true;
    child.stdin.write(answer.type);
  });
  return new Promise((resolve) =>
    child.on('close', (code) => resolve({ code, screen: screen.replaceAll('\r\n', '\n') })),
  );
}
