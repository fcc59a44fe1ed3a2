// Reads the file of a job into items, from the last stored batch to the seal. A lease allows one process at a time;
// after a crash the next process resumes at the checkpoint. A file that cannot be read fails the job. Transient
// errors (database, blob store) leave the job open, to be resumed.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { IngestReport, JobSource } from '../core/files/file-format.ts';
import { mapColumns } from '../core/files/map-columns.ts';
import { ColumnTypeGatherer, type ColumnTypes } from '../core/files/typed-columns.ts';
import { toStorableText } from '../core/items/storable-json.ts';
import { INGEST_STATES } from '../core/jobs/job-state.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { sealJob } from '../engine/jobs/seal-job.ts';
import { type Checked, checkInput, type InputSchema } from '../pipeline/input-schema.ts';
import { turnOfLoop } from '../platform/clock.ts';
import { faultPoint } from '../platform/fault-point.ts';
import { keepLease } from '../platform/keep-lease.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { failIngest } from '../store/commands/jobs/fail-ingest.ts';
import { claimIngest, releaseIngest, renewIngest } from '../store/commands/jobs/ingest-lease.ts';
import { type Job, readJob } from '../store/views/jobs/read-job.ts';
import { BatchWriter, type IngestCheckpoint } from './batch-writer.ts';
import { type Encoded, type EncodeOptions, ObjectEncoder, tableEncoder } from './encode-rows.ts';
import { withRows } from './open-rows.ts';
import { optionsToReadAgain, readLimits } from './read-options.ts';
import { MAX_RAW_LENGTH, type ReadRow, type RejectedRow, type RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** Errors of the file itself: waiting does not make it readable. */
const FILE_ERRORS: string[] = [
  'FILE_INVALID',
  'FILE_UNSUPPORTED',
  'FILE_TOO_LARGE',
  'FILE_STALLS_READER',
  'FILE_INCOMPLETE',
  'FILE_OPTION_INVALID',
  'COLUMNS_MISSING',
  'BLOB_NOT_FOUND',
];

const MAX_REASON_LENGTH = 2000;

/** True if the job is sealed; false if the signal stopped the read, or the job was cancelled meanwhile. */
export async function ingestJob(
  context: EngineContext,
  jobId: string,
  pipeline: Pipeline,
  signal?: AbortSignal,
): Promise<boolean> {
  const token = newId();
  const claimed = await retryPassing(() =>
    claimIngest(context.db, jobId, token, context.settings.ingestLeaseMs),
  );
  const job = await readJob(context.db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (!claimed) return refuseUnlessSealed(job);
  const { ingestLeaseMs } = context.settings;
  const lease = keepLease({
    leaseMs: ingestLeaseMs,
    renew: () => renewIngest(context.db, jobId, token, ingestLeaseMs),
    lost: () => new RowmillError('JOB_CONFLICT', `another process took over the file of job ${jobId}`),
    signal,
  });
  try {
    if (claimed.takeovers >= context.settings.jobMaxTakeovers) throw endsItsReaders(job, claimed.takeovers);
    const read = await context.blobs.withLocalFile(job.source!.blobKey, (path) =>
      readFile(context, path, job, { token, pipeline, signal: lease.signal }),
    );
    lease.signal.throwIfAborted();
    faultPoint('ingest.before_seal');
    await sealJob(context, jobId, { token, ...read });
    return true;
  } catch (error) {
    const refused = refusalOf(error);
    if (refused !== null) {
      const reason = toStorableText(refused.message, MAX_REASON_LENGTH);
      if (await failIngest(context.db, jobId, reason, token))
        context.events.emit('job.failed', { jobId, reason });
      throw refused;
    }
    await releaseIngest(context.db, jobId, token).catch(() => {});
    if (signal?.aborted || (await isCancelledNow(context, jobId))) return false;
    throw error;
  } finally {
    await lease.stop();
  }
}

/** The error, if it would recur however often the file is read; null if it is transient. */
function refusalOf(error: unknown): RowmillError | null {
  if (error instanceof RowmillError) return FILE_ERRORS.includes(error.code) ? error : null;
  const state = (error as { code?: unknown } | null)?.code;
  const isOfData = typeof state === 'string' && /^(22|54)[0-9A-Z]{3}$/.test(state);
  if (!isOfData && !(error instanceof RangeError)) return null;
  const { message } = error as Error;
  return new RowmillError('FILE_INVALID', `a row of the file cannot be stored: ${message}`, { cause: error });
}

async function isCancelledNow(context: EngineContext, jobId: string): Promise<boolean> {
  const job = await readJob(context.db, jobId).catch(() => null);
  return job !== null && job.cancelledAt !== null;
}

function refuseUnlessSealed(job: Job): boolean {
  if (job.sealedAt !== null) return true;
  if (INGEST_STATES.includes(job.state)) {
    throw new RowmillError(
      'JOB_CONFLICT',
      `another process is reading the file of job ${job.jobId}; its lease ends in ${Math.ceil((job.ingestLeaseMs ?? 0) / 1000)} s`,
      { hint: 'Wait for it, or stop it and try again.' },
    );
  }
  throw new RowmillError(
    'JOB_NOT_INGESTING',
    `expected job ${job.jobId} to be open for items, it is ${job.state}${job.lastError === null ? '' : `: ${job.lastError}`}`,
  );
}

interface Reading {
  token: string;
  pipeline: Pipeline;
  signal: AbortSignal;
}

async function readFile(
  context: EngineContext,
  path: string,
  job: Job,
  { token, pipeline, signal }: Reading,
): Promise<{ checksum: string; report: IngestReport }> {
  const source: JobSource = job.source!;
  const read = async (reader: RowReader): Promise<{ checksum: string; report: IngestReport }> => {
    const encoder = encoderFor(context, job, reader, pipeline);
    const writer = new BatchWriter(context, {
      jobId: job.jobId,
      token,
      updatesJobId: job.updatesJobId,
      report: readSoFar(job.ingestReport),
      newColumns: encoder.newColumns,
      columnTypes: encoder.columnTypes,
    });
    let toSkip = writer.report.read;
    const checkpoint = job.ingestCheckpoint as IngestCheckpoint | null;
    for await (const rows of reader.rows()) {
      for (const row of rows) {
        const encoded = row.kind === 'rejected' ? row : encoder.encode(row);
        if (toSkip > 0) {
          writer.passOver(encodedText(row, encoded));
          toSkip -= 1;
          if (toSkip === 0 && writer.checksum() !== checkpoint?.checksum) throw changedFile(job);
          continue;
        }
        const waiting = add(writer, row, encoded, pipeline.input);
        if (!waiting) continue;
        await waiting;
        signal.throwIfAborted();
      }
      // Storing a batch takes a handful of round trips, and each waits for the event loop to turn.
      await turnOfLoop();
    }
    if (toSkip > 0) throw changedFile(job);
    await writer.finish();
    return { checksum: writer.checksum(), report: writer.report };
  };
  return withRows(path, optionsToReadAgain(source), readLimits(context.settings), read, signal);
}

/** Leaves out the counts of emitted items, which belong to the workers. */
function readSoFar(report: Partial<IngestReport>): IngestReport {
  const { read = 0, stored = 0, rejected = 0, repaired = 0, invalid = 0, takenOver = 0 } = report;
  return { read, stored, rejected, repaired, invalid, takenOver };
}

interface Encoder {
  encode(row: Exclude<ReadRow, { kind: 'rejected' }>): Encoded;
  newColumns(): Job['inputColumns'] | undefined;
  columnTypes(): ColumnTypes | undefined;
}

function encoderFor({ settings }: EngineContext, job: Job, reader: RowReader, pipeline: Pipeline): Encoder {
  const options: EncodeOptions = {
    key: job.keyColumns,
    summary: pipeline.summary,
    maxRowBytes: settings.ingestMaxRowBytes,
  };
  if (reader.headers === null) {
    const { mapping = {} } = job.source!;
    const encoder = new ObjectEncoder({
      ...options,
      maxColumns: settings.ingestMaxColumns,
      known: job.inputColumns,
      given: mapping,
    });
    return {
      encode: (row) => (row.kind === 'object' ? encoder.encode(row) : mixedKinds(row.line)),
      newColumns: () => encoder.takeNew(),
      columnTypes: () => undefined,
    };
  }
  // The columns were fixed when the job was created; here each is matched to its position in the file again.
  const byHeader = mapColumns(reader.headers, null).columns;
  let next = 0;
  const columns = byHeader.map((column) => (column === null ? null : (job.inputColumns[next++] ?? null)));
  if (next !== job.inputColumns.length) throw changedFile(job);
  const encode = tableEncoder(columns, options);
  const types = reader.detected.format === 'xlsx' ? new ColumnTypeGatherer(columns) : null;
  return {
    encode: (row) => {
      if (row.kind !== 'cells') return mixedKinds(row.line);
      types?.add(row.cells, row.types);
      return encode(row);
    },
    newColumns: () => undefined,
    columnTypes: () => types?.found(),
  };
}

function mixedKinds(line: number): never {
  throw new Error(`the reader returned a row of another kind on line ${line}`);
}

function encodedText(row: ReadRow, encoded: Encoded | ReadRow): string {
  if ('ok' in encoded && encoded.ok) return encoded.row.json;
  return rawOf(row);
}

function rawOf(row: ReadRow): string {
  if (row.kind === 'rejected') return row.raw;
  const text = row.kind === 'cells' ? row.cells.join('\t') : JSON.stringify(row.object);
  return text.slice(0, MAX_RAW_LENGTH);
}

/** Returns a promise only if there is something to wait for: most rows just join the next batch. */
function add(
  writer: BatchWriter,
  row: ReadRow,
  encoded: Encoded | ReadRow,
  schema: InputSchema | undefined,
): Promise<void> | undefined {
  if (!('ok' in encoded)) return writer.reject(encoded as RejectedRow);
  if (!encoded.ok) return writer.reject({ line: row.line, reason: encoded.reason, raw: rawOf(row) });
  if (!schema) return writer.add(encoded.row, row.line);
  // Check the stored form of the row, which is the one the worker gets.
  const checked = checkInput(schema, JSON.parse(encoded.row.json));
  const addChecked = (result: Checked): Promise<void> | undefined => {
    if (!result.ok) encoded.row.invalid = result.message;
    return writer.add(encoded.row, row.line);
  };
  return checked instanceof Promise ? checked.then(addChecked) : addChecked(checked);
}

function endsItsReaders({ ingestReport }: Job, takeovers: number): RowmillError {
  return new RowmillError(
    'FILE_STALLS_READER',
    `reading the file crashed or stalled ${takeovers} processes in a row, and none got past the first ${ingestReport.read ?? 0} rows (jobMaxTakeovers). Check the rows after these and the logs of these processes, then start a new job with the file.`,
  );
}

function changedFile(job: Job): RowmillError {
  return new RowmillError(
    'FILE_INVALID',
    `the file of job ${job.jobId} does not begin with the ${job.ingestReport.read} rows that were read before`,
    { hint: 'The file, or the way it is read, has changed. Start a new job with the file.' },
  );
}
