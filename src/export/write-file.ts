// Writes an export to a file that gets its name only when it is complete. The bytes are written to <path>.part, and
// <path>.part.json records the last synced position. After an interruption the same request resumes from there. Other
// requests, and all workbooks, start from the beginning.
import { type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Executor } from '../platform/database.ts';
import { type ExportRequest, exportJob, type PreparedExport } from './export-job.ts';

export type FileRequest = Omit<ExportRequest, 'afterSeq'>;

export interface WriteFileOptions {
  /** Maximum bytes to write again after an interruption. */
  checkpointBytes?: number;
}

export interface WrittenFile {
  rows: number;
  bytes: number;
  /** Rows kept from an interrupted run. */
  resumedRows: number;
}

interface Checkpoint {
  jobId: string;
  generation: number;
  fingerprint: string;
  seq: number;
  bytes: number;
  rows: number;
}

const CHECKPOINT_BYTES = 32 * 1024 * 1024;

export async function writeExportFile(
  db: Executor,
  request: FileRequest,
  path: string,
  options: WriteFileOptions = {},
): Promise<WrittenFile> {
  await mkdir(dirname(path), { recursive: true });
  const prepared = await exportJob(db, request).prepare();
  const partPath = `${path}.part`;
  const begun = request.format === 'xlsx' ? null : await findBegun(partPath, prepared);
  const start = begun?.checkpoint ?? { seq: -1, bytes: 0, rows: 0 };
  const part = begun?.part ?? (await open(partPath, 'w'));
  try {
    if (begun === null) await rm(checkpointPath(partPath), { force: true });
    const stream = exportJob(db, { ...request, generation: prepared.generation, afterSeq: start.seq });
    const checkpoint = (): Checkpoint => ({
      jobId: request.jobId,
      generation: prepared.generation,
      fingerprint: prepared.fingerprint,
      seq: stream.position().seq,
      bytes: start.bytes + stream.position().bytes,
      rows: start.rows + stream.rowCount,
    });
    let certain = start.bytes;
    let written = start.bytes;
    for await (const chunk of stream) {
      request.signal?.throwIfAborted();
      await writeWhole(part, chunk, written);
      written += chunk.length;
      if (written - certain < (options.checkpointBytes ?? CHECKPOINT_BYTES)) continue;
      certain = written;
      if (request.format !== 'xlsx') await saveCheckpoint(part, partPath, checkpoint());
    }
    await part.sync();
    await rename(partPath, path);
    await rm(checkpointPath(partPath), { force: true });
    await syncFolder(dirname(path));
    return { rows: start.rows + stream.rowCount, bytes: written, resumedRows: start.rows };
  } finally {
    await part.close();
  }
}

function checkpointPath(partPath: string): string {
  return `${partPath}.json`;
}

/** Opens the part of an interrupted run of this request, truncated to the last checkpoint. */
async function findBegun(
  partPath: string,
  prepared: PreparedExport,
): Promise<{ checkpoint: Checkpoint; part: FileHandle } | null> {
  let part: FileHandle | null = null;
  try {
    const checkpoint = JSON.parse(await readFile(checkpointPath(partPath), 'utf8')) as Checkpoint;
    if (checkpoint.fingerprint !== prepared.fingerprint) return null;
    part = await open(partPath, 'r+');
    const { size } = await part.stat();
    if (size >= checkpoint.bytes) {
      await part.truncate(checkpoint.bytes);
      return { checkpoint, part };
    }
  } catch {
    // The part is missing or damaged, so there is nothing to resume.
  }
  await part?.close();
  return null;
}

/** Syncs the bytes before the checkpoint that vouches for them. */
async function saveCheckpoint(part: FileHandle, partPath: string, checkpoint: Checkpoint): Promise<void> {
  await part.datasync();
  const path = checkpointPath(partPath);
  await writeFile(`${path}.new`, JSON.stringify(checkpoint), { flush: true });
  await rename(`${path}.new`, path);
}

async function writeWhole(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, done, chunk.length - done, position + done);
    done += bytesWritten;
  }
}

/** Makes the rename survive a power failure. Not every system supports it. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // The file itself is already on disk.
  }
}
