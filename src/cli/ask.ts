// Prompts at the terminal.
import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { EXIT } from './exit-codes.ts';

export function isAtTerminal(): boolean {
  return process.stdin.isTTY === true;
}

export async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return (await readLine(lines, question)).trim();
}

/** Prompts without echoing the input. */
export async function askSecret(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Created before the prompt is shown, because this turns off the echo.
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(question);
  try {
    return await readLine(lines, '');
  } finally {
    process.stderr.write('\n');
  }
}

async function readLine(lines: Interface, question: string): Promise<string> {
  lines.on('SIGINT', () => process.exit(EXIT.stopped));
  const closed = new Promise<never>((_, reject) =>
    lines.once('close', () => reject(new RowmillError('SIGN_IN_FAILED', 'no input at the prompt'))),
  );
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    closed.catch(() => {});
    lines.close();
  }
}

export async function readStandardInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk);
  return text;
}
