// One scan of a source: every file that is ready becomes exactly one job.
//
// The order is claim row, rename, job, row done, rename. The next poller that finds the file can repeat each step:
//   killed after the claim    the file is still offered; the lease of its row expires and it is taken over
//   killed after the rename   the file is in .processing under a name that begins with its id, which leads to its row
//   killed after the job      the same, and the job is found by its key, which is derived from that id
//   killed after the row      the row has the outcome; the next scan moves the file away
// A poller that was only frozen finds its token gone, and then changes neither row nor file; the job it may still be
// working on is the same job. If a rename moved a different file than the claimed one, its fingerprint shows that,
// immediately or in the next scan, and the rename is undone.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { keepLease } from '../../platform/keep-lease.ts';
import { newId } from '../../platform/random.ts';
import {
  claimSourceFile,
  finishSourceFile,
  forgetSourceFile,
  releaseSourceFile,
  renewSourceFile,
  type SourceFileClaim,
  takeOverSourceFile,
} from '../../store/commands/files/source-file-lease.ts';
import { findSourceFiles } from '../../store/views/files/find-source-files.ts';
import { listAbandonedSourceFiles } from '../../store/views/files/list-abandoned-source-files.ts';
import { checkWhileReading, type ReadProblem } from './check-while-reading.ts';
import { planScan } from './plan-scan.ts';
import type { OpenedSourceFile, SourceAdapter, SourceFile, SourceLook } from './source-adapter.ts';
import type { SourceConfig } from './source-config.ts';

/**
 * Stores the bytes, creates (or finds, by idempotencyKey) the job and ingests it to the seal. Throws RowmillError for a
 * file that can never be read; other errors are transient.
 */
export type TakeFile = (file: {
  name: string;
  idempotencyKey: string;
  open(): Promise<AsyncIterable<Buffer>>;
  expectedBytes: number;
  source: { kind: string; name: string; path: string };
  signal: AbortSignal;
}) => Promise<{ jobId: string }>;

export interface ScanReport {
  /** All files found, with any outcome. */
  found: number;
  taken: number;
  /** Still being written, held by another poller, changed meanwhile, or beyond the limit of one scan. */
  waiting: number;
  failed: number;
  /** Refused, or finished earlier. */
  skipped: number;
  /** Transient errors: these files are tried again. */
  errors: number;
}

export const MAX_TRIES = 5;
const MAX_LINE_LENGTH = 500;
const MAX_REASON_LENGTH = 4000;
const MAX_PATH_LENGTH = 8192;
const ABANDONED_AT_ONCE = 1000;
/** Errors with a status below 500 that are not about the file. In a conflict, another process is reading it. */
const CONFLICTS: readonly string[] = ['JOB_CONFLICT', 'IDEMPOTENCY_KEY_REUSED'];
const NOT_THE_FILE = ['FILE_INCOMPLETE', 'BLOB_NOT_FOUND', 'PIPELINE_NOT_FOUND', ...CONFLICTS];

const refusedBefore = new WeakMap<SourceAdapter, Set<string>>();

/** The problem on the side of the source, whatever error the consumer throws for it. */
interface Reading {
  problem: ReadProblem | null;
}

interface Scan {
  context: EngineContext;
  adapter: SourceAdapter;
  config: SourceConfig;
  takeFile: TakeFile;
  signal: AbortSignal;
  report: ScanReport;
}

/** Throws if the source, the database or the blob store is unreachable. Files taken until then are in the events. */
export async function scanSource(
  context: EngineContext,
  adapter: SourceAdapter,
  config: SourceConfig,
  takeFile: TakeFile,
  signal: AbortSignal,
): Promise<ScanReport> {
  const report: ScanReport = { found: 0, taken: 0, waiting: 0, failed: 0, skipped: 0, errors: 0 };
  const scan: Scan = { context, adapter, config, takeFile, signal, report };
  try {
    if (!signal.aborted) await runScan(scan);
  } catch (error) {
    if (!signal.aborted) {
      context.events.emit('source.scan_failed', { source: config.name, error });
      throw error;
    }
  } finally {
    await adapter.disconnect();
  }
  return report;
}

async function runScan(scan: Scan): Promise<void> {
  const { context, adapter, config, report, signal } = scan;
  const { db, settings } = context;
  const source = config.name;
  const look = await adapter.look(signal);
  const fileIds = new Set([...look.held, ...look.offered].map((file) => file.fileId));
  report.found = fileIds.size + look.waiting.length + look.refused.length;
  report.skipped = look.refused.length;
  reportRefused(scan, look);

  const rows = await findSourceFiles(db, source, [...fileIds]);
  const plan = planScan(look, rows, settings.sourceMaxFiles);
  report.waiting = look.waiting.length + plan.waiting;
  await forgetVanished(scan, look, fileIds);
  for (const { file, settlement } of plan.settle) {
    if (signal.aborted) return;
    report.skipped += 1;
    await settleReporting(scan, file, settlement);
  }
  for (const file of plan.giveBack) await adapter.giveBack(file);
  for (const { file, how } of plan.take) {
    if (signal.aborted) return;
    await takeOne(scan, file, how);
  }
}

/** Reports a refused file once, not on every scan. */
function reportRefused({ adapter, context, config }: Scan, look: SourceLook): void {
  const known = refusedBefore.get(adapter);
  const refused = new Set<string>();
  for (const { path, reason } of look.refused) {
    const line = `${path}\n${reason}`;
    refused.add(line);
    if (!known?.has(line)) context.events.emit('source.file_skipped', { source: config.name, path, reason });
  }
  refusedBefore.set(adapter, refused);
}

/** Drops claims of files that no longer exist: they changed or were removed before they became a job. */
async function forgetVanished(
  { context, config }: Scan,
  look: SourceLook,
  found: Set<string>,
): Promise<void> {
  const waiting = new Set(look.waiting);
  for (const { fileId, path } of await listAbandonedSourceFiles(context.db, config.name, ABANDONED_AT_ONCE)) {
    if (found.has(fileId) || waiting.has(fileId)) continue;
    if (await forgetSourceFile(context.db, { source: config.name, fileId, token: null })) {
      const reason = 'it was removed or changed after it was claimed';
      context.events.emit('source.file_skipped', { source: config.name, path, reason });
    }
  }
}

async function takeOne(scan: Scan, file: SourceFile, how: 'claim' | 'take over'): Promise<void> {
  const { config, report } = scan;
  const { db, settings } = scan.context;
  const claim: SourceFileClaim = { source: config.name, fileId: file.fileId, token: newId() };
  const tries = await makeClaim(scan, file, claim, how);
  if (tries === null) {
    report.waiting += 1;
    return;
  }
  faultPoint('source.after_claim');
  if (tries.length >= MAX_TRIES) return fail(scan, file, claim, tries.join('\n'));

  const startedAt = monotonicMs();
  const reading: Reading = { problem: null };
  let lost = false;
  const lease = keepLease({
    leaseMs: settings.ingestLeaseMs,
    renew: () => renewSourceFile(db, claim, settings.ingestLeaseMs),
    lost: () => {
      lost = true;
      return new Error('another poller took over the file');
    },
    signal: scan.signal,
  });
  const outcome = await holdAndTake(scan, file, lease.signal, reading).then(
    (jobId) => ({ jobId }),
    (error: unknown) => ({ error }),
  );
  await lease.stop();
  if (lost) report.waiting += 1;
  else if ('error' in outcome) {
    await handleError(scan, file, claim, { error: outcome.error, problem: reading.problem, tries });
  } else if (outcome.jobId === null) {
    await forgetSourceFile(db, claim);
    report.waiting += 1;
  } else {
    faultPoint('source.after_take');
    await finish(scan, file, claim, outcome.jobId, monotonicMs() - startedAt);
  }
}

/** One line for each failed try so far, or null if another poller holds the file. */
async function makeClaim(
  { context, config }: Scan,
  file: SourceFile,
  claim: SourceFileClaim,
  how: 'claim' | 'take over',
): Promise<string[] | null> {
  const leaseMs = context.settings.ingestLeaseMs;
  if (how === 'claim') {
    const path = toStorableText(file.path, MAX_PATH_LENGTH);
    return (await claimSourceFile(context.db, { ...claim, path, bytes: file.bytes, leaseMs })) ? [] : null;
  }
  const crashNote = 'the process that was reading the file died';
  const taken = await takeOverSourceFile(context.db, { ...claim, source: config.name, leaseMs, crashNote });
  return taken === null ? null : (taken.reason?.split('\n') ?? []);
}

/** The id of the job; null if the file is gone or was replaced. */
async function holdAndTake(
  { adapter, config, takeFile }: Scan,
  file: SourceFile,
  signal: AbortSignal,
  reading: Reading,
): Promise<string | null> {
  const sourceSide = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      reading.problem = { kind: 'failed', error };
      throw error;
    }
  };
  if (!(await sourceSide(adapter.hold(file)))) return null;
  faultPoint('source.after_rename');
  const opened: OpenedSourceFile[] = [];
  try {
    const { jobId } = await takeFile({
      name: toStorableText(file.name, MAX_PATH_LENGTH),
      idempotencyKey: `source/${config.name}/${file.fileId}`,
      expectedBytes: file.bytes,
      source: { kind: config.kind, name: config.name, path: toStorableText(file.path, MAX_PATH_LENGTH) },
      signal,
      async open() {
        const openedFile = await sourceSide(adapter.open(file, signal));
        opened.push(openedFile);
        return checkWhileReading(openedFile, file.bytes, (problem) => {
          reading.problem = problem;
        });
      },
    });
    return jobId;
  } finally {
    for (const each of opened) await each.close().catch(() => {});
  }
}

async function finish(
  scan: Scan,
  file: SourceFile,
  claim: SourceFileClaim,
  jobId: string,
  ms: number,
): Promise<void> {
  const { context, config, report } = scan;
  const { path, bytes } = file;
  if (!(await finishSourceFile(context.db, claim, { state: 'done', jobId }))) {
    report.waiting += 1;
    return;
  }
  report.taken += 1;
  context.events.emit('source.file_taken', { source: config.name, path, bytes, jobId, ms });
  faultPoint('source.before_finish');
  await settleReporting(scan, file, { state: 'done' });
}

async function handleError(
  scan: Scan,
  file: SourceFile,
  claim: SourceFileClaim,
  { error, problem, tries }: { error: unknown; problem: ReadProblem | null; tries: string[] },
): Promise<void> {
  const { adapter, context, config, report, signal } = scan;
  const source = config.name;
  if (signal.aborted) {
    await releaseSourceFile(context.db, claim, null);
    report.waiting += 1;
  } else if (problem?.kind === 'changed') {
    await adapter.giveBack(file);
    await forgetSourceFile(context.db, claim);
    report.waiting += 1;
    context.events.emit('source.file_skipped', {
      source,
      path: file.path,
      reason: 'it changed while it was read',
    });
  } else if (problem === null && isFinal(error)) {
    await fail(scan, file, claim, (error as RowmillError).message);
  } else {
    const cause = problem?.error ?? error;
    // Only failures of the file itself count as tries: a database outage says nothing about the file.
    const counts = problem ? !(cause instanceof RowmillError) : !isElsewhere(cause);
    const note = counts ? oneLine(cause) : null;
    const lines = note === null ? tries : [...tries, note];
    if (lines.length >= MAX_TRIES) return fail(scan, file, claim, lines.join('\n'));
    report.errors += 1;
    await releaseSourceFile(context.db, claim, note);
    context.events.emit('source.file_released', {
      source,
      path: file.path,
      error: cause,
      tries: lines.length,
    });
    // The other files would fail in the same way.
    if (!counts && !isConflict(cause)) throw cause;
  }
}

async function fail(scan: Scan, file: SourceFile, claim: SourceFileClaim, reason: string): Promise<void> {
  const { context, config, report } = scan;
  const settlement = { state: 'failed' as const, reason: toStorableText(reason, MAX_REASON_LENGTH) };
  if (!(await finishSourceFile(context.db, claim, settlement))) {
    report.waiting += 1;
    return;
  }
  report.failed += 1;
  context.events.emit('source.file_failed', {
    source: config.name,
    path: file.path,
    reason: settlement.reason,
  });
  await settleReporting(scan, file, settlement);
}

/** The outcome is already recorded, so a failed move is only reported. The next scan tries it again. */
async function settleReporting(
  { adapter, context, config, report }: Scan,
  file: SourceFile,
  settlement: Parameters<SourceAdapter['settle']>[1],
): Promise<void> {
  try {
    await adapter.settle(file, settlement);
  } catch (error) {
    report.errors += 1;
    context.events.emit('source.scan_failed', { source: config.name, path: file.path, error });
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof RowmillError && error.status < 500 && !NOT_THE_FILE.includes(error.code);
}

/** The database, the blob store or the whole source is unreachable, or the setup is wrong. */
function isElsewhere(error: unknown): boolean {
  if (error instanceof RowmillError) return error.code !== 'FILE_INCOMPLETE';
  return databaseErrorKind(error) === 'passing';
}

function isConflict(error: unknown): boolean {
  return error instanceof RowmillError && CONFLICTS.includes(error.code);
}

function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return toStorableText(message.replaceAll(/\s+/g, ' '), MAX_LINE_LENGTH);
}
