// POST /api/jobs: creates a job from an upload, from items, or from a file of a configured source. It answers when the
// bytes and the job are stored; the rows of a file are read in the background.
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { jobRoutes } from '../../contract/jobs.ts';
import { type createdJob, newJob } from '../../contract/new-job.ts';
import { checkPays } from '../../core/limits/budget.ts';
import { checkParams } from '../../pipeline/check-params.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { addItems, toRow } from '../../engine/items/add-items.ts';
import { checkQuota } from '../../engine/jobs/check-quota.ts';
import { createJob } from '../../engine/jobs/create-job.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { sealJob } from '../../engine/jobs/seal-job.ts';
import { takeSourceFile } from '../../ingest/sources/take-source-file.ts';
import { type SubmitFileOptions, submitFile } from '../../ingest/submit-file.ts';
import { submitUpload } from '../../ingest/submit-upload.ts';
import { waitMs } from '../../platform/clock.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { readJob, readVisibleJob } from '../../store/views/jobs/read-job.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { type Actor, chooseOwner, seenBy } from '../requests/actor.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import { idempotencyKeyOf } from '../requests/answer-once.ts';
import type { ApiContext } from '../api-context.ts';
import { checkStorable } from '../requests/check-storable.ts';
import { findPipeline } from './find-pipeline.ts';
import { findSource } from '../files/find-source.ts';
import { findUpload } from '../files/find-upload.ts';
import { type GivenFile, withFittingPipeline } from './fitting-pipeline.ts';
import type { ApiRequest, Handler } from '../requests/handler.ts';
import { drainRest, receiveUpload } from '../files/receive-upload.ts';
import { startIngest } from './start-ingest.ts';

type Request = ApiRequest<typeof jobRoutes.createJob>;
type NewJob = z.output<typeof newJob>;
type CreatedJob = z.output<typeof createdJob>;

/**
 * If two requests share an idempotency key at the same time, one waits for the other, with this many checks at this
 * interval.
 */
const CONFLICT_TRIES = 40;
/** Another request is storing the items, or has just sealed the job. */
const BUSY: readonly string[] = ['JOB_BUSY', 'JOB_NOT_INGESTING'];
const CONFLICT_WAIT_MS = 100;

export const makeJob: Handler<typeof jobRoutes.createJob> = async (request, context) => {
  if (request.raw.isMultipart()) return withUploadSlot(request, context, () => fromUpload(request, context));
  const { items, source, upload } = request.body;
  const given = [items, source, upload].filter((each) => each !== undefined).length;
  if (given !== 1)
    throw new RowmillError(
      'REQUEST_INVALID',
      `expected one of items, source, upload and a multipart part file, got ${given === 0 ? 'none' : 'several'}`,
    );
  if (upload) return fromParts(request, context, upload);
  return items === undefined ? fromSource(request, context) : fromItems(request, context, items);
};

/** Previews need a slot as well: both hold a connection and disk space for as long as the client takes. */
export async function withUploadSlot<T>(
  request: Pick<Request, 'actor' | 'engine' | 'raw' | 'signal'>,
  context: ApiContext,
  work: () => Promise<T>,
): Promise<T> {
  let release: (() => void) | undefined;
  try {
    release = takeUploadSlot(request, context);
    return await work();
  } catch (error) {
    drainRest(request.raw);
    // The client has disconnected, so this is not an error of the server.
    if (request.signal.aborted)
      throw new RowmillError('FILE_INCOMPLETE', 'the client disconnected before the end of the upload');
    throw error;
  } finally {
    release?.();
  }
}

/** Returns a function that releases the slot. */
export function takeUploadSlot(
  { actor, engine }: { actor: Actor; engine: EngineContext },
  context: ApiContext,
): () => void {
  const { uploadsAtOnce } = engine.settings;
  const release = context.slots.uploads.take(actor.userId, uploadsAtOnce);
  if (release) return release;
  throw new RetryLaterError(
    'RATE_LIMITED',
    `expected at most ${uploadsAtOnce} uploads of one caller at once (uploadsAtOnce)`,
    1000,
  );
}

async function fromUpload(request: Request, context: ApiContext): Promise<CreatedJob> {
  const { engine, signal } = request;
  const { body, file } = await receiveUpload(request.raw, newJob, engine.settings);
  if (body.items !== undefined || body.source !== undefined || body.upload !== undefined)
    throw new RowmillError(
      'REQUEST_INVALID',
      'expected one of items, source, upload and the part file, got two',
    );
  if (body.pipeline === undefined && new Set(context.pipelines.map(({ name }) => name)).size > 1)
    return withFittingPipeline(context, body, file, signal, (pipeline, spooled) =>
      submitReceived(request, context, { body, pipeline, file: spooled }),
    );
  const pipeline = findPipeline(context.pipelines, body.pipeline);
  return submitReceived(request, context, { body, pipeline, file });
}

async function submitReceived(
  request: Request,
  context: ApiContext,
  { body, pipeline, file }: { body: NewJob; pipeline: Pipeline; file: GivenFile },
): Promise<CreatedJob> {
  const { engine, signal } = request;
  const options = await fileOptions(request, body, pipeline);
  // Refuses early, before the file is uploaded. With an idempotency key it may be an existing job.
  if (options.idempotencyKey === undefined)
    await checkQuota(engine.db, engine.settings, options.ownerId, { jobs: 1, bytes: 1 });
  const submitted = await submitFile(engine, pipeline, { kind: 'upload', ...file }, { ...options, signal });
  startIngest(context, submitted.jobId, pipeline);
  return { jobId: submitted.jobId, created: submitted.created };
}

async function fromParts(
  request: Request,
  context: ApiContext,
  { uploadId, sha256 }: NonNullable<NewJob['upload']>,
): Promise<CreatedJob> {
  const { actor, body, engine, signal } = request;
  const pipeline = findPipeline(context.pipelines, body.pipeline);
  const options = await fileOptions(request, body, pipeline);
  const upload = await findUpload(context, actor, uploadId);
  // The client lost the first answer and retries.
  if (upload.jobId !== null) return { jobId: upload.jobId, created: false };
  const submitted = await submitUpload(engine, pipeline, upload, {
    ...options,
    ...(sha256 && { sha256 }),
    signal,
  });
  startIngest(context, submitted.jobId, pipeline);
  return submitted;
}

async function fromSource(request: Request, context: ApiContext): Promise<CreatedJob> {
  const { body, engine, signal } = request;
  const pipeline = findPipeline(context.pipelines, body.pipeline);
  const options = await fileOptions(request, body, pipeline);
  const config = findSource(context, request.actor, body.source!.name);
  const submitted = await takeSourceFile(engine, config, body.source!.path, signal, (file) =>
    submitFile(engine, pipeline, file, { ...options, signal }),
  );
  startIngest(context, submitted.jobId, pipeline);
  return { jobId: submitted.jobId, created: submitted.created };
}

async function fileOptions(
  request: Request,
  body: NewJob,
  pipeline: Pipeline,
): Promise<SubmitFileOptions & { ownerId: string }> {
  checkStorable(body);
  if (body.open) throw new RowmillError('REQUEST_INVALID', 'expected open only with items');
  checkPayable(pipeline, body);
  const { actor, engine } = request;
  const { updatesJobId } = body;
  if (updatesJobId !== undefined && !(await readVisibleJob(engine.db, updatesJobId, seenBy(actor))))
    throw new RowmillError('JOB_NOT_FOUND', `there is no job ${updatesJobId}`);
  const idempotencyKey = keyOf(request);
  return {
    ...commonOptions(body),
    ownerId: chooseOwner(actor, body.ownerId),
    withinQuota: true,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(body.again && { again: true }),
    ...(body.format !== undefined && { format: defined(body.format) }),
    ...(body.mapping !== undefined && { mapping: body.mapping }),
    ...(body.key !== undefined && { key: body.key }),
    ...(updatesJobId !== undefined && { updatesJobId }),
  };
}

async function fromItems(
  request: Request,
  context: ApiContext,
  items: Record<string, unknown>[],
): Promise<CreatedJob> {
  const { body, engine } = request;
  for (const name of ['format', 'mapping', 'again', 'updatesJobId', 'key'] as const)
    if (body[name] !== undefined)
      throw new RowmillError('REQUEST_INVALID', `expected ${name} only with a file`);
  const { items: _items, ...options } = body;
  checkStorable(options);
  const pipeline = findPipeline(context.pipelines, body.pipeline);
  checkPayable(pipeline, body);
  const idempotencyKey = keyOf(request);
  // Checked before the job is created: one unstorable item must not leave a partial job behind.
  for (const [position, item] of items.entries()) toRow(item, position);
  const { jobId, created } = await createJob(engine, {
    ...commonOptions(body),
    params: await checkParams(pipeline, body.params),
    pipeline: pipeline.name,
    pipelineVersion: pipeline.version,
    pipelineKeepDays: pipeline.keepDays,
    phases: pipeline.phases.map((phase) => phase.name),
    costUnit: pipeline.costUnit,
    ownerId: chooseOwner(request.actor, body.ownerId),
    withinQuota: true,
    ...((body.outputs ?? pipeline.outputs) && { outputs: body.outputs ?? pipeline.outputs! }),
    ...(idempotencyKey !== undefined && { idempotencyKey, fingerprint: fingerprintOf(body) }),
  });
  await storeItems(engine, jobId, items, body.open === true);
  await context.notifier.hint();
  return { jobId, created };
}

/** Resumes where an earlier request with the same key was interrupted; stores all items for a new job. */
async function storeItems(
  engine: EngineContext,
  jobId: string,
  items: Record<string, unknown>[],
  isOpen: boolean,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const job = await retryPassing(() => readJob(engine.db, jobId));
    if (!job || job.sealedAt !== null || isFinished(job.state)) return;
    const stored = job.itemCount - (job.ingestReport.emitted ?? 0);
    try {
      if (stored < items.length) await addItems(engine, jobId, items, { resumeAfter: stored });
      if (!isOpen) await sealJob(engine, jobId);
      return;
    } catch (error) {
      const isBusy = error instanceof RowmillError && BUSY.includes(error.code);
      if (!isBusy || tries === CONFLICT_TRIES) throw error;
      await waitMs(CONFLICT_WAIT_MS);
    }
  }
}

function commonOptions({ name, params, priority, outputs, hold, trial, budget }: NewJob) {
  return defined({ name, params, priority, outputs, hold, trial, budget: budget && defined(budget) });
}

function checkPayable(pipeline: Pipeline, { budget }: NewJob): void {
  const unpaid = checkPays(pipeline, budget && defined(budget));
  if (unpaid !== null) throw new RowmillError('BUDGET_INVALID', unpaid);
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Removes undefined fields. */
function defined<T extends object>(given: T): Defined<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** The prefix keeps it distinct from the keys of files and sources. */
function keyOf({ raw }: Request): string | undefined {
  const given = idempotencyKeyOf(raw);
  return given === undefined ? undefined : `api:${given}`;
}

function fingerprintOf(body: NewJob): string {
  return `items:${createHash('sha256').update(JSON.stringify(body)).digest('hex')}`;
}
