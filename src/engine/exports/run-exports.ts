// Writes exports in the background, one after the other, each under a lease. If a process dies, another one takes
// over. If two processes both work on an export, one is fenced and deletes its file. Keys contain the attempt, so the
// two never write to the same key.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { exportJob } from '../../export/export-job.ts';
import { keepLease } from '../../platform/keep-lease.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { deleteExport } from '../../store/commands/files/change-exports.ts';
import {
  type ClaimedExport,
  claimExport,
  type ExportEnd,
  finishExport,
  releaseExport,
  renewExport,
} from '../../store/commands/files/export-lease.ts';
import { listExpiredExports } from '../../store/views/exports/list-exports.ts';
import type { EngineContext } from '../engine-context.ts';
import type { BackgroundExport } from './prepare-export.ts';

const MAX_ATTEMPTS = 5;

/** Writes exports until no unclaimed one is left. Returns their number. */
export async function runExports(context: EngineContext, signal: AbortSignal): Promise<number> {
  for (let count = 0; ; count += 1) {
    if (signal.aborted) return count;
    const token = newId();
    const claimed = await claimExport(context.db, token, context.settings.ingestLeaseMs);
    if (!claimed) return count;
    await runExport(context, claimed, token, signal);
  }
}

async function runExport(
  context: EngineContext,
  claimed: ClaimedExport,
  token: string,
  signal: AbortSignal,
): Promise<void> {
  const { db, settings } = context;
  const { exportId, attempts } = claimed;
  const leaseMs = settings.ingestLeaseMs;
  const lease = keepLease({
    leaseMs,
    renew: () => renewExport(db, exportId, token, leaseMs),
    lost: () => new Error('another process took over the export'),
    signal,
  });
  try {
    const end = await writeExport(context, claimed, lease.signal);
    if (!(await finish(context, claimed, token, end)) && end.state === 'READY')
      await context.blobs.delete(end.blobKey);
  } catch (error) {
    if (lease.signal.aborted) return void (await releaseExport(db, exportId, token).catch(() => {}));
    const isFinal = error instanceof RowmillError && error.status < 500;
    if (!isFinal && attempts < MAX_ATTEMPTS) {
      await releaseExport(db, exportId, token);
      throw error;
    }
    const message = isFinal ? error.message : `it failed ${attempts} times`;
    await finish(context, claimed, token, { state: 'FAILED', error: message });
    if (!isFinal) throw error;
  } finally {
    await lease.stop();
  }
}

async function writeExport(
  { db, blobs, settings }: EngineContext,
  { exportId, jobId, request, attempts }: ClaimedExport,
  signal: AbortSignal,
): Promise<ExportEnd> {
  if (attempts > MAX_ATTEMPTS)
    return { state: 'FAILED', error: `the process that prepared it stopped ${MAX_ATTEMPTS} times` };
  const stored = request as BackgroundExport;
  const stream = exportJob(db, { ...stored, jobId, pageRows: settings.exportPageRows, signal });
  const key = `${prefixOf(jobId, exportId)}a${attempts}.${stored.format}`;
  const blob = await blobs.put(key, stream, { signal });
  await blobs.verify(blob);
  return { state: 'READY', blobKey: key, bytes: blob.bytes, sha256: blob.sha256, rows: stream.rowCount };
}

async function finish(
  context: EngineContext,
  { exportId, jobId }: ClaimedExport,
  token: string,
  end: ExportEnd,
): Promise<boolean> {
  const { db, settings, blobs } = context;
  const isOurs = await retryPassing(() => finishExport(db, exportId, token, end, settings.exportKeepMs));
  if (!isOurs) return false;
  const kept = end.state === 'READY' ? end.blobKey : null;
  for await (const { key } of blobs.list(prefixOf(jobId, exportId)))
    if (key !== kept) await blobs.delete(key);
  return true;
}

/** Deletes expired exports; the row goes last. */
export async function pruneExports({ db, blobs }: EngineContext): Promise<number> {
  const expired = await listExpiredExports(db);
  for (const { exportId, jobId } of expired) {
    for await (const { key } of blobs.list(prefixOf(jobId, exportId))) await blobs.delete(key);
    await deleteExport(db, exportId);
  }
  return expired.length;
}

function prefixOf(jobId: string, exportId: string): string {
  return `exports/${jobId}/${exportId}/`;
}
