// Runs a short program as the server's user, waits for it to exit, and returns its output.
import { spawn } from 'node:child_process';
import type { ServerUser } from './choose-server-user.ts';

export interface RunProgramOptions {
  user: ServerUser | null;
  env: NodeJS.ProcessEnv;
  cwd: string;
  stdin?: string;
}

export interface ProgramResult {
  ok: boolean;
  /** Standard output and error interleaved, or the reason why the program could not be run. */
  output: string;
}

export function runProgram(file: string, args: string[], options: RunProgramOptions): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      ...(options.user === null ? {} : { uid: options.user.uid, gid: options.user.gid }),
    });
    let output = '';
    const collect = (chunk: string) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    // A program that exits without reading its input causes EPIPE; its exit code has the result.
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code, signal) => {
      if (signal !== null) output += `\nended by ${signal}`;
      resolve({ ok: code === 0, output: output.trim() });
    });
  });
}
