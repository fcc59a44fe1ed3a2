// Runs the compiled command line in a folder until it exits.
import { type ChildProcess, spawn } from 'node:child_process';
import { bareEnvironment } from './bare-environment.ts';
import { MAIN } from './built-program.ts';

export interface EndedCommand {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CommandPlace {
  folder: string;
  databaseUrl?: string;
  /** Default: the one of this checkout. */
  main?: string;
  environment?: Record<string, string>;
  /** Standard input. */
  input?: string;
}

export function runCommand(where: CommandPlace, args: readonly string[]): Promise<EndedCommand> {
  return startCommand(where, args).ended;
}

/** For tests that act while it runs. */
export function startCommand(
  where: CommandPlace,
  args: readonly string[],
): { child: ChildProcess; ended: Promise<EndedCommand> } {
  const { folder, databaseUrl, environment, main = MAIN } = where;
  const child = spawn(process.execPath, [main, ...args], {
    cwd: folder,
    env: {
      ...bareEnvironment(),
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      ...environment,
    },
  });
  child.stdin.end(where.input ?? '');
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const ended = new Promise<EndedCommand>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, ended };
}
