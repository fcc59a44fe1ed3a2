// Runs commands over the API of a server.
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline as pipe } from 'node:stream/promises';
import type { Client } from '../../client/create-client.ts';
import type { Download } from '../../client/read-download.ts';
import type { Given } from '../../client/route-call.ts';
import { RowmillApiError } from '../../client/rowmill-api-error.ts';
import type { Routes } from '../../contract/routes.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ExportFilter } from '../../core/files/export-filter.ts';
import { ITEM_STATUSES } from '../../core/items/outcome.ts';
import { countSeqs, eachSeq } from '../../core/items/seq-ranges.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import type { ReprocessRequest } from '../../engine/reprocess/reprocess-job.ts';
import { unreadableFile } from '../../ingest/unreadable-file.ts';
import { waitMs } from '../../platform/clock.ts';
import { STANDARD_OUTPUT } from '../format-of-path.ts';
import { onlyJob } from '../only-job.ts';
import { writeToStdout, writingTo } from '../writing-to.ts';
import { gatherComparison } from './gather-comparison.ts';
import {
  ANY_ATTEMPTS,
  type JobPort,
  type OwnerSettings,
  type PortExportRequest,
  type ShownErrors,
  type SubmitRequest,
  toListedJob,
  toShownError,
  toShownItem,
  toShownJob,
  toShownSummary,
  toShownWorker,
  type WatchedJob,
} from './job-port.ts';

const MAX_PAGE = 200;
const MAX_OWNERS = 1000;
const MAX_ROWS = 100_000;
const REFRESH_MS = 500;
/** Refreshes between two requests for details that events do not contain. */
const DETAILS_EVERY = 6;
/** One more than the display shows, so that it knows whether there are more. */
const TOP_ERRORS = 6;

export function clientPort(client: Client, description: string): JobPort {
  const job = async (jobId: string) => toShownJob(await client.getJob({ jobId }));
  return {
    description,
    job,
    async findJob(prefix) {
      return job(await findJobId(client, prefix));
    },
    async listJobs({ limit, states, pipeline, search }) {
      const given = { states, pipeline, search, limit: Math.min(limit, MAX_PAGE) };
      return (await firstOf(client.pages('listJobs', given), limit)).map(toListedJob);
    },
    async summary(jobId) {
      try {
        return toShownSummary(await client.getSummary({ jobId }));
      } catch (error) {
        if (error instanceof RowmillApiError && error.code === 'SUMMARY_NOT_FOUND') return null;
        throw error;
      }
    },
    errors: async (jobId, limit) => (await errorsOf(client, jobId, { limit })).groups,
    errorPage: (jobId, request) => errorsOf(client, jobId, request),
    async compare(jobId, { changes, ...request }) {
      return gatherComparison(request.limit, (cursor, limit) =>
        client.compareRuns({ jobId, ...request, change: changes, limit, cursor }),
      );
    },
    async items(jobId, { filter, limit }) {
      const given = { jobId, ...rowsOf(filter), limit: Math.min(limit, MAX_PAGE) };
      return (await firstOf(client.pages('listItems', given), limit)).map(toShownItem);
    },
    async storedRow(jobId, seq) {
      const [item, { params }] = await Promise.all([
        client.getItem({ jobId, seq }),
        client.getJob({ jobId }),
      ]);
      const { input, stages, edits, startPhase, status, errorClass, error, result } = item;
      return {
        input,
        inputSince: Math.max(0, ...edits.map((edit) => edit.generation)),
        params: (params ?? {}) as Record<string, unknown>,
        startPhase,
        stages,
        outcome:
          status === 'PENDING' || status === 'PROCESSING' ? null : { status, errorClass, error, result },
      };
    },
    trace: (jobId, seq) => client.getItemTrace({ jobId, seq }),
    logs: (jobId, request) => client.listLogs({ jobId, ...request }),
    submit: (request, signal) => submitOver(client, request, signal),
    async setBudget(jobId, budget) {
      await client.changeJob({ jobId, budget });
    },
    async keep(jobId, keepDays) {
      await client.changeJob({ jobId, keepDays });
    },
    pause: async (jobId) => ({ released: 0, ...(await client.pauseJob({ jobId })) }),
    resume: (jobId) => client.resumeJob({ jobId }),
    async cancel(jobId) {
      const { changed } = await client.cancelJob({ jobId });
      // The job is CANCELLING; wait until its open rows are cancelled.
      for await (const { state } of client.follow(jobId)) if (isFinished(state)) break;
      return { changed, state: (await client.getJob({ jobId })).state, released: 0 };
    },
    async delete(jobId) {
      await client.deleteJob({ jobId });
    },
    reprocess: (jobId, request) => client.reprocessJob({ jobId, ...reprocessBody(request) }),
    exportTo: (jobId, path, request) => exportOver(client, jobId, path, request),
    watch: (jobId, signal) => watchOver(client, jobId, signal),
    isPassing,
    async workers() {
      const { items } = await client.listWorkers();
      return items.map(toShownWorker);
    },
    database: async () => null,
    owners: (limit) => firstOf(client.pages('listOwners', { limit: Math.min(limit, MAX_OWNERS) }), limit),
    async setOwner(ownerId, change) {
      return (await client.changeOwner({ ownerId, ...change })) as OwnerSettings;
    },
    async resources({ name, limit }) {
      return (await client.listResources({ name, limit: Math.min(limit, 1000) })).items as never;
    },
    async setResource(name, change, key) {
      return (await client.changeResource({ name, ...change, ...(key !== undefined && { key }) })).override;
    },
  };
}

async function findJobId(client: Client, prefix: string): Promise<string> {
  const find = async (limit: number) => (await client.findJobs({ prefix, limit })).items;
  return prefix.length === 36 ? prefix.toLowerCase() : (await onlyJob(prefix, find)).jobId;
}

async function firstOf<Item>(pages: AsyncIterable<Item>, limit: number): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pages) {
    items.push(item);
    if (items.length >= limit) break;
  }
  return items;
}

async function errorsOf(
  client: Client,
  jobId: string,
  { limit, search }: { limit: number; search?: string | undefined },
): Promise<ShownErrors> {
  const given = { jobId, search, limit: Math.min(limit, MAX_PAGE) };
  const { items, next, total, matching, all } = await client.listErrors(given);
  const left = limit - items.length;
  const rest =
    next === null || left <= 0
      ? []
      : await firstOf(client.pages('listErrors', { ...given, cursor: next }), left);
  return { groups: [...items, ...rest].map(toShownError), total, matching, all };
}

function rowsOf({ statuses, phase, errorGroup, search }: ExportFilter) {
  return { statuses: statuses && [...statuses], phase, errorGroup, search };
}

async function submitOver(
  client: Client,
  { path, onProgress, idempotencyKey, ...options }: SubmitRequest,
  signal: AbortSignal,
) {
  const found = await stat(path).catch((cause: Error) => {
    throw unreadableFile(path, cause);
  });
  if (!found.isFile())
    throw new RowmillError('FILE_INVALID', `expected a file, ${path} is a folder, a device or a pipe`, {
      hint: 'Over a server, submit a file; put images into a zip.',
    });
  const { size } = found;
  return client.upload(
    { name: basename(path), bytes: () => createReadStream(path), size },
    options as Given<Routes['createJob']>,
    { signal, idempotencyKey, onProgress: ({ sent, total }) => onProgress?.(sent, total) },
  );
}

function reprocessBody(request: ReprocessRequest): Omit<Given<Routes['reprocessJob']>, 'jobId'> {
  const { statuses, seqs, maxAttempts, edits, errorGroups, ...rest } = request;
  if (seqs && countSeqs(seqs) > MAX_ROWS)
    throw new RowmillError(
      'REPROCESS_INVALID',
      `expected at most ${MAX_ROWS} rows by number over a server, got ${countSeqs(seqs)}`,
    );
  if (maxAttempts !== undefined && Number.isFinite(maxAttempts) && maxAttempts < ANY_ATTEMPTS)
    throw new RowmillError('REPROCESS_INVALID', '--max-attempts is not available over a server', {
      hint: 'Use --reset-attempts to include rows that reached the attempt limit.',
    });
  const isOnlyEdits = edits !== undefined && !seqs && !statuses && Object.keys(rest).length === 0;
  return {
    scope: seqs || isOnlyEdits ? 'items' : errorGroups ? 'errorGroup' : 'filter',
    ...(errorGroups && { errorGroups: [...errorGroups] }),
    ...(seqs && { itemIds: [...eachSeq(seqs)] }),
    ...(statuses !== undefined && { statuses: statuses === 'all' ? [...ITEM_STATUSES] : [...statuses] }),
    ...(edits && { edits: edits.map((each) => ({ seq: each.seq, input: each.input as never })) }),
    ...(maxAttempts !== undefined && { resetAttempts: true }),
    ...rest,
  };
}

async function exportOver(
  client: Client,
  jobId: string,
  path: string,
  { kind, format, filter, raw, bom, delimiter, generation }: PortExportRequest,
): Promise<null> {
  const file =
    kind === 'results'
      ? await client.exportJob({ jobId, format, ...rowsOf(filter), raw, bom, delimiter, generation })
      : await outputFile(client, jobId, kind, generation);
  if (path === STANDARD_OUTPUT) await writeToStdout(Readable.fromWeb(file.stream as never));
  else await writingTo(path, () => saveAs(path, file));
  return null;
}

/** A job writes these files when it finishes. */
async function outputFile(
  client: Client,
  jobId: string,
  kind: 'unsuccessful' | 'rejected',
  generation: number | undefined,
): Promise<Download> {
  const { items } = await client.listFiles({ jobId });
  const wanted = generation ?? Math.max(...items.map((file) => file.generation ?? 0));
  const file = items.find(
    (each) => each.kind === 'output' && each.name.startsWith(`${kind}.`) && each.generation === wanted,
  );
  if (file) return client.downloadFile({ jobId, fileId: file.fileId });
  throw new RowmillError('FILE_NOT_FOUND', `job ${jobId} has no file of ${kind} rows`);
}

/** The file gets its name only when it is complete. */
async function saveAs(path: string, { stream, bytes }: Download): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const target = createWriteStream(part);
  try {
    await pipe(Readable.fromWeb(stream as never), target);
    if (bytes !== null && target.bytesWritten !== bytes)
      throw new RowmillError('FILE_INCOMPLETE', `expected ${bytes} bytes, got ${target.bytesWritten}`);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** Follows the events of the job, and polls for details that events do not contain. */
async function* watchOver(client: Client, jobId: string, signal: AbortSignal): AsyncGenerator<WatchedJob> {
  let watched: WatchedJob = await look();
  let changed = false;
  /** A lifecycle event arrived, so details such as the seal must be read again. */
  let isStale = false;
  let isOver = isFinished(watched.job.state);
  let failure: unknown = null;
  const ended = new AbortController();
  const stop = (): void => ended.abort();
  signal.addEventListener('abort', stop, { once: true });

  async function look(): Promise<WatchedJob> {
    const [job, errors] = await Promise.all([
      client.getJob({ jobId }),
      errorsOf(client, jobId, { limit: TOP_ERRORS }),
    ]);
    return { job: toShownJob(job), errors: errors.groups };
  }
  async function listen(): Promise<void> {
    const onReconnect = (reason: unknown): void => {
      watched = { ...watched, notice: `reconnecting to the server: ${sentenceOf(reason)}` };
    };
    for await (const event of client.follow(jobId, { signal: ended.signal, onReconnect })) {
      changed = true;
      watched = { ...watched, notice: undefined };
      const { job } = watched;
      if (event.type === 'progress') {
        const { type: _, counts, ...progress } = event;
        watched = {
          ...watched,
          job: toShownJob({ ...job, ...progress, counts: { ...job.counts, ...counts } }),
        };
      } else {
        watched = { ...watched, job: { ...job, state: event.state } };
        isStale = true;
      }
    }
  }
  const listening = isOver
    ? Promise.resolve()
    : listen().then(stop, (error: unknown) => {
        if (!ended.signal.aborted) failure = error;
        stop();
      });
  try {
    for (let turn = 1; !isOver && !isFinished(watched.job.state); turn += 1) {
      yield watched;
      await waitMs(REFRESH_MS, ended.signal);
      if (failure !== null) throw failure;
      isOver = ended.signal.aborted && !signal.aborted;
      if ((isStale || (turn % DETAILS_EVERY === 0 && changed)) && !ended.signal.aborted) {
        changed = false;
        isStale = false;
        // Wait for a server that is temporarily unavailable, as the event stream does.
        watched = await look().catch((error: unknown) => {
          if (!isPassing(error)) throw error;
          isStale = true;
          return { ...watched, notice: `reconnecting to the server: ${sentenceOf(error)}` };
        });
      }
    }
    yield await look();
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    await listening;
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof RowmillApiError && (error.status === 0 || error.status === 503);
}

function sentenceOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : 'the connection closed';
}
