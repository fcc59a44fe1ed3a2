// Turns a byte stream into a job: stores it whole, detects its format, and creates a job that is open for its rows. A
// file that is incomplete, unreadable or refused creates nothing and is not kept. The same file with the same options
// for the same owner is the same job.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { checkPays, type JobBudget } from '../core/limits/budget.ts';
import { checkParams } from '../pipeline/check-params.ts';
import type { DetectedFormat, FormatOptions, JobSource } from '../core/files/file-format.ts';
import type { InputColumn } from '../core/items/input-column.ts';
import { fieldsOf } from '../pipeline/input-schema.ts';
import { mapColumns } from '../core/files/map-columns.ts';
import { type JobOutput, outputLike } from '../core/files/output-format.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { replaceUnstorable } from '../core/items/storable-json.ts';
import { createJob } from '../engine/jobs/create-job.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { type FileSet, withFileSet } from '../engine/items/file-set.ts';
import type { StoredBlob } from '../platform/blob-store/blob-store.ts';
import { faultPoint } from '../platform/fault-point.ts';
import { newId } from '../platform/random.ts';
import { checkUpdatedJob } from './check-updated-job.ts';
import { type ImageFile, imagesOfZip, storeImageSet } from './formats/read-images.ts';
import { keepImageIn } from './keep-image.ts';
import { sniffFile, withRows } from './open-rows.ts';
import { readLimits } from './read-options.ts';
import type { RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export interface FileToSubmit {
  name: string;
  /** Origin of the file: file, upload, folder, s3, ftp, sftp. */
  kind: string;
  /** Name of the watched source, and the path in it. */
  source?: string;
  path?: string;
  bytes: AsyncIterable<Uint8Array>;
  /** A stream of a different length is refused as incomplete. */
  expectedBytes?: number;
}

export interface SubmitFileOptions<Params = unknown> {
  ownerId?: string;
  name?: string;
  params?: Params;
  priority?: number;
  /** Default: derived from the file, the pipeline, the parameters and the format options. */
  idempotencyKey?: string;
  /** Create a new job even if the same file already has one. */
  again?: boolean;
  format?: FormatOptions;
  /** Column of the file for each field of the pipeline's input. */
  mapping?: Record<string, string>;
  /** Fields that identify a row, instead of those of the pipeline. */
  key?: readonly string[];
  /** The job that this file corrects: rows that did not change take over its results. */
  updatesJobId?: string;
  outputs?: readonly JobOutput[];
  hold?: boolean;
  trial?: number;
  budget?: JobBudget;
  /** Refuse the job if its owner has reached the quota of the settings. */
  withinQuota?: boolean;
  signal?: AbortSignal;
}

export interface SubmittedFile {
  jobId: string;
  created: boolean;
  source: JobSource;
  columns: InputColumn[];
  /** Columns of the file that are not stored. */
  ignoredColumns: string[];
}

export async function submitFile(
  context: EngineContext,
  pipeline: Pipeline,
  file: FileToSubmit,
  given: SubmitFileOptions = {},
): Promise<SubmittedFile> {
  const options = await withParams(pipeline, given);
  return withFileSet(context, (set) => submitBytes(context, pipeline, file, set, options));
}

async function submitBytes(
  context: EngineContext,
  pipeline: Pipeline,
  file: FileToSubmit,
  set: FileSet,
  options: SubmitFileOptions,
): Promise<SubmittedFile> {
  const { blobs } = context;
  const limits = readLimits(context.settings);
  const blob = await blobs.putByHash(set.prefix, file.bytes, putOptions(context, options.signal));
  faultPoint('ingest.file_stored');
  if (file.expectedBytes !== undefined && blob.bytes !== file.expectedBytes) {
    throw new RowmillError(
      'FILE_INCOMPLETE',
      `expected ${file.name} to have ${file.expectedBytes} bytes, got ${blob.bytes}`,
    );
  }
  // One local copy for detecting and reading: from S3 each would be a download.
  return blobs.withLocalFile(blob.key, async (path) => {
    const { kind } = await sniffFile(path, limits, options.signal);
    const store = (images: AsyncIterable<ImageFile>): Promise<SubmittedFile> =>
      storeImages(context, pipeline, file, images, set, options);
    if (kind === 'image') return store(oneImage(file.name, path));
    if (kind === 'imageZip') return store(imagesOfZip(path, limits));
    return submitBlob(context, pipeline, file, { blob, path }, set, options);
  });
}

async function* oneImage(name: string, path: string): AsyncGenerator<ImageFile> {
  yield { name, open: () => createReadStream(path) };
}

/** A set of images is one job with a row per image. */
export async function submitImages(
  context: EngineContext,
  pipeline: Pipeline,
  file: Omit<FileToSubmit, 'bytes' | 'expectedBytes'>,
  images: AsyncIterable<ImageFile>,
  options: SubmitFileOptions = {},
): Promise<SubmittedFile> {
  const checked = await withParams(pipeline, options);
  return withFileSet(context, (set) => storeImages(context, pipeline, file, images, set, checked));
}

/** Parameters are checked before a byte is read: if the pipeline refuses them, the file is not needed. */
async function withParams(pipeline: Pipeline, options: SubmitFileOptions): Promise<SubmitFileOptions> {
  return { ...options, params: await checkParams(pipeline, options.params) };
}

async function storeImages(
  context: EngineContext,
  pipeline: Pipeline,
  file: Omit<FileToSubmit, 'bytes' | 'expectedBytes'>,
  images: AsyncIterable<ImageFile>,
  set: FileSet,
  options: SubmitFileOptions,
): Promise<SubmittedFile> {
  const { blobs } = context;
  const manifest = storeImageSet(images, keepImageIn(blobs, set), readLimits(context.settings));
  const blob = await blobs.putByHash(set.prefix, manifest, putOptions(context, options.signal));
  return blobs.withLocalFile(blob.key, (path) =>
    submitBlob(context, pipeline, file, { blob, path }, set, options),
  );
}

function putOptions({ settings }: EngineContext, signal: AbortSignal | undefined) {
  return { maxBytes: settings.uploadMaxBytes, limitName: 'uploadMaxBytes', ...(signal && { signal }) };
}

async function submitBlob(
  context: EngineContext,
  pipeline: Pipeline,
  file: Omit<FileToSubmit, 'bytes' | 'expectedBytes'>,
  { blob, path }: { blob: StoredBlob; path: string },
  { setId, images }: FileSet,
  options: SubmitFileOptions,
): Promise<SubmittedFile> {
  const { format = {}, mapping = {}, params = {} } = options;
  const unpaid = checkPays(pipeline, options.budget);
  if (unpaid !== null) throw new RowmillError('BUDGET_INVALID', unpaid);
  const key = options.key ?? pipeline.key;
  if (options.updatesJobId !== undefined)
    await checkUpdatedJob(context, options.updatesJobId, pipeline.name, key);
  const look = await lookAt(context, pipeline, path, { format, mapping, signal: options.signal });
  checkKey(key, look.columns);
  const source: JobSource = {
    kind: file.kind,
    name: file.name,
    ...(file.source !== undefined && { source: file.source }),
    ...(file.path !== undefined && { path: file.path }),
    blobKey: blob.key,
    sha256: blob.sha256,
    bytes: blob.bytes,
    ...(images.size > 0 && { imageBytes: [...images.values()].reduce((sum, bytes) => sum + bytes, 0) }),
    options: format,
    ...(Object.keys(mapping).length > 0 && { mapping }),
    detected: storable(look.detected),
  };
  const how = { params, format, mapping, key, updates: options.updatesJobId };
  const fingerprint = fileKey(pipeline.name, blob.sha256, how);
  const { jobId, created } = await createJob(context, {
    pipeline: pipeline.name,
    pipelineVersion: pipeline.version,
    pipelineKeepDays: pipeline.keepDays,
    phases: pipeline.phases.map((phase) => phase.name),
    costUnit: pipeline.costUnit,
    name: options.name ?? file.name,
    params,
    ...(options.ownerId !== undefined && { ownerId: options.ownerId }),
    ...(options.priority !== undefined && { priority: options.priority }),
    idempotencyKey: options.idempotencyKey ?? (options.again ? newId() : fingerprint),
    fingerprint,
    source,
    fileSetId: setId,
    inputColumns: look.columns,
    keyColumns: key,
    ...(options.updatesJobId !== undefined && { updatesJobId: options.updatesJobId }),
    outputs: options.outputs ?? pipeline.outputs ?? [outputLike(look.detected.format)],
    ...(options.hold !== undefined && { hold: options.hold }),
    ...(options.trial !== undefined && { trial: options.trial }),
    ...(options.budget !== undefined && { budget: options.budget }),
    ...(options.withinQuota && { withinQuota: true }),
  });
  return { jobId, created, source, columns: look.columns, ignoredColumns: look.ignored };
}

/** Lines before the header are kept unchanged, except for characters that cannot be stored. */
function storable(detected: DetectedFormat): DetectedFormat {
  return JSON.parse(replaceUnstorable(JSON.stringify(detected))) as DetectedFormat;
}

interface Look {
  detected: DetectedFormat;
  columns: InputColumn[];
  ignored: string[];
}

/** Opens the file once, so that an unreadable file is refused before there is a job. */
async function lookAt(
  context: EngineContext,
  pipeline: Pipeline,
  path: string,
  how: { format: FormatOptions; mapping: Record<string, string>; signal: AbortSignal | undefined },
): Promise<Look> {
  const look = async ({ detected, headers }: RowReader): Promise<Look> => {
    // JSON keys are found while reading, and the schema checks each row.
    if (headers === null) return { detected, columns: [], ignored: [] };
    const { columns, ignored } = mapColumns(headers, fieldsOf(pipeline.input), how.mapping);
    return { detected, columns: columns.filter((column) => column !== null), ignored };
  };
  return withRows(path, how.format, readLimits(context.settings), look, how.signal);
}

function checkKey(key: readonly string[], columns: InputColumn[]): void {
  if (columns.length === 0) return;
  const lacking = key.filter((name) => !columns.some((column) => column.key === name));
  if (lacking.length > 0) {
    throw new RowmillError(
      'COLUMNS_MISSING',
      `expected a column for the key ${lacking.join(', ')}; the file has ${columns
        .slice(0, 20)
        .map((column) => JSON.stringify(column.key))
        .join(', ')}`,
    );
  }
}

function fileKey(pipeline: string, sha256: string, how: unknown): string {
  return `file:${pipeline}:${sha256}:${createHash('sha256').update(JSON.stringify(how)).digest('hex').slice(0, 16)}`;
}
