// The compiled command line, run in a folder as a person would, to its end.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface EndedCommand {
  code: number | null;
  stdout: string;
  stderr: string;
}

export function runCommand(
  where: { folder: string; databaseUrl: string },
  args: readonly string[],
): Promise<EndedCommand> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: where.folder,
    env: { PATH: process.env.PATH, DATABASE_URL: where.databaseUrl },
  });
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
