// postgres.log, the log of the server. Its size is bounded, and errors quote its last lines.

import type { FileHandle } from 'node:fs/promises';
import { open, rename, stat } from 'node:fs/promises';

const ROTATE_AT_BYTES = 10 * 1024 * 1024;
const QUOTED_LINES = 15;
const QUOTED_BYTES = 16 * 1024;

/** Call it only while no server runs: a running one would keep writing to the renamed file. */
export async function rotateLog(logFile: string): Promise<void> {
  const size = await logSize(logFile);
  if (size > ROTATE_AT_BYTES) await rename(logFile, `${logFile}.1`);
}

export function openLog(logFile: string): Promise<FileHandle> {
  return open(logFile, 'a', 0o600);
}

export async function logSize(logFile: string): Promise<number> {
  const stats = await stat(logFile).catch(() => null);
  return stats?.size ?? 0;
}

/** The last lines written since the given size. */
export async function readLogTail(logFile: string, fromByte: number): Promise<string> {
  const file = await open(logFile, 'r').catch(() => null);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const start = Math.max(fromByte, size - QUOTED_BYTES);
    const buffer = Buffer.alloc(Math.max(0, size - start));
    await file.read(buffer, 0, buffer.length, start);
    return buffer.toString('utf8').trimEnd().split('\n').slice(-QUOTED_LINES).join('\n');
  } finally {
    await file.close();
  }
}
