// Runs commands directly on the database.

import { readLogs } from '../../api/items/list-logs.ts';
import { showTrace } from '../../api/items/show-trace.ts';
import { compareRunsOf } from '../../api/jobs/compare-runs.ts';
import { showErrorGroup } from '../../api/jobs/show-error-group.ts';
import { listedJobs, showJob } from '../../api/jobs/show-job.ts';
import { showOwner } from '../../api/operations/show-owner.ts';
import { showWorker } from '../../api/operations/show-worker.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { rowNumber } from '../../contract/row-number.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { changeJob } from '../../engine/jobs/change-job.ts';
import { deleteJob, removeRemains } from '../../engine/jobs/delete-job.ts';
import { exportJob } from '../../export/export-job.ts';
import { readRows } from '../../export/read-rows.ts';
import { readErrorGroups } from '../../store/views/results/read-error-groups.ts';
import { writeExportFile } from '../../export/write-file.ts';
import { contextOf, type Rowmill } from '../../open-rowmill.ts';
import { waitMs } from '../../platform/clock.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { listHeldTransactions, readConnections } from '../../store/views/health/read-database-facts.ts';
import { readItem } from '../../store/views/items/read-item.ts';
import { readItemHistory } from '../../store/views/items/read-item-history.ts';
import { readItemTrace } from '../../store/views/items/read-item-trace.ts';
import { jobsPage } from '../../store/views/jobs/jobs-page.ts';
import { listWorkers } from '../../store/views/jobs/list-workers.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { readJobParams } from '../../store/views/jobs/read-job-params.ts';
import { currentAccount } from '../current-account.ts';
import { findJob } from '../find-job.ts';
import { STANDARD_OUTPUT } from '../format-of-path.ts';
import { choosePipeline } from '../load-pipeline.ts';
import { writeToStdout, writingTo } from '../writing-to.ts';
import { gatherComparison } from './gather-comparison.ts';
import {
  type JobListRequest,
  type JobPort,
  type ListedJob,
  type PortItemsRequest,
  type ShownItem,
  type ShownJob,
  type ShownSummary,
  type StoredRow,
  type SubmitRequest,
  toListedJob,
  type ShownErrors,
  toShownError,
  toShownItem,
  toShownJob,
  toShownSummary,
  toShownWorker,
  type WatchedJob,
} from './job-port.ts';

const REFRESH_MS = 200;
/** One more than the display shows, so that it knows whether there are more. */
const TOP_ERRORS = 6;

export function directPort(rowmill: Rowmill, description: string): JobPort {
  const { db, settings } = contextOf(rowmill);
  const stateOf = async (jobId: string) => (await rowmill.job(jobId)).state;
  return {
    description,
    findJob: async (prefix) => shown(rowmill, await findJob(rowmill, prefix)),
    job: async (jobId) => shown(rowmill, await rowmill.job(jobId)),
    listJobs: (request) => chosenJobs(rowmill, request),
    async summary(jobId) {
      const summary = await rowmill.summary(jobId);
      if (!summary) return null;
      const { createdAt, ...rest } = summary;
      return toShownSummary({ ...(rest as object), createdAt: createdAt.toISOString() } as ShownSummary);
    },
    errors: async (jobId, limit) => (await errorsOf(rowmill, jobId, { limit })).groups,
    errorPage: (jobId, request) => errorsOf(rowmill, jobId, request),
    async compare(jobId, request) {
      const job = await rowmill.job(jobId);
      return gatherComparison(request.limit, (cursor, limit) =>
        compareRunsOf(db, job, { ...request, limit, cursor }),
      );
    },
    items: (jobId, request) => firstItems(rowmill, jobId, request),
    storedRow: (jobId, seq) => storedRow(rowmill, jobId, seq),
    async trace(jobId, seq) {
      const job = await rowmill.job(jobId);
      return showTrace(seq, await readItemTrace(db, jobId, seq), job);
    },
    logs: async (jobId, request) => readLogs(db, await rowmill.job(jobId), request),
    submit: (request, signal) => submitDirectly(rowmill, request, signal),
    async setBudget(jobId, change) {
      await rowmill.setBudget(jobId, change, { actor: currentAccount() });
    },
    async keep(jobId, keepDays) {
      await changeJob(asCaller(rowmill), jobId, { keepDays });
    },
    async pause(jobId) {
      const changed = await rowmill.pause(jobId);
      return { changed, state: await stateOf(jobId), released: 0 };
    },
    async resume(jobId) {
      const { changed, released } = await rowmill.resume(jobId);
      return { changed, state: await stateOf(jobId), released };
    },
    async cancel(jobId) {
      const changed = await rowmill.cancel(jobId);
      return { changed, state: await stateOf(jobId), released: 0 };
    },
    async delete(jobId) {
      const context = asCaller(rowmill);
      await deleteJob(context, jobId);
      await removeRemains(context, { jobId });
    },
    reprocess: (jobId, request) => rowmill.reprocess(jobId, request),
    async exportTo(jobId, path, { format, kind, filter, raw, bom, delimiter, generation }) {
      const request = {
        jobId,
        format,
        kind,
        filter,
        pageRows: settings.exportPageRows,
        ...(raw && { raw }),
        ...(bom && { bom }),
        ...(delimiter && { delimiter }),
        ...(generation !== undefined && { generation }),
      };
      if (path !== STANDARD_OUTPUT)
        return writingTo(path, async () => (await writeExportFile(db, request, path)).rows);
      const stream = exportJob(db, request);
      await writeToStdout(stream);
      return stream.rowCount;
    },
    watch: (jobId, signal) => watchDirectly(rowmill, jobId, signal),
    isPassing: (error) => databaseErrorKind(error) === 'passing',
    async workers() {
      const workers = await listWorkers(db, settings.heartbeatMs * 3);
      return workers.map((worker) => toShownWorker(showWorker(worker)));
    },
    async database() {
      const [{ open, maxConnections }, [oldest]] = await Promise.all([
        readConnections(db, settings.heartbeatMs * 3),
        listHeldTransactions(db),
      ]);
      return { open, maxConnections, oldestTransactionMs: oldest?.ageMs ?? null };
    },
    owners: async (limit) => (await rowmill.owners(limit)).map(showOwner),
    async setOwner(ownerId, { budgetTotal: total, budgetPerDay: perDay, ...limits }) {
      const by = { actor: currentAccount() };
      const change = { ...(total !== undefined && { total }), ...(perDay !== undefined && { perDay }) };
      const hasBudget = Object.keys(change).length > 0;
      // First the budgets, which can be refused.
      const budget = hasBudget ? await rowmill.setOwnerBudget(ownerId, change, by) : null;
      return {
        ...(!(hasBudget && Object.keys(limits).length === 0) &&
          (await rowmill.setOwner(ownerId, limits, by))),
        ...(budget && { budgetTotal: budget.total, budgetPerDay: budget.perDay }),
      };
    },
    resources: ({ name, limit }) => rowmill.resources({ ...(name !== undefined && { name }), limit }),
    setResource: (name, change, key) =>
      rowmill.setResource(name, change, { ...(key !== undefined && { key }), actor: currentAccount() }),
  };
}

/** The context of changes in the name of the account that runs the command. */
function asCaller(rowmill: Rowmill): EngineContext {
  return { ...contextOf(rowmill), by: { actor: currentAccount(), requestId: null, address: null } };
}

async function shown(rowmill: Rowmill, job: Job): Promise<ShownJob> {
  // This process has no pipelines, so the list may include services that the job does not use.
  return toShownJob(await showJob(contextOf(rowmill), job, rowmill.resources()));
}

async function chosenJobs(rowmill: Rowmill, request: JobListRequest): Promise<ListedJob[]> {
  const { limit, states = null, pipeline = null, search = null } = request;
  const { db } = contextOf(rowmill);
  const rows = await jobsPage(db, {
    ...{ owners: null, states, pipeline, search, after: null, limit },
    ...{ needs: null, silentMs: 0 },
  });
  const toListed = await listedJobs(contextOf(rowmill), rows);
  return rows.map((row) => toListedJob(toListed(row)));
}

async function firstItems(
  rowmill: Rowmill,
  jobId: string,
  { filter, limit }: PortItemsRequest,
): Promise<ShownItem[]> {
  const { generation, itemCount } = await rowmill.job(jobId);
  const { db, settings } = contextOf(rowmill);
  const pageRows = Math.min(limit, settings.exportPageRows);
  const items: ShownItem[] = [];
  for await (const page of readRows(db, { jobId, generation, filter, pageRows, afterSeq: -1, itemCount })) {
    for (const row of page) {
      const item: ShownItem = {
        seq: row.seq,
        row: rowNumber(row.seq),
        status: row.status,
        input: JSON.parse(row.inputJson) as never,
        result: row.resultJson === null ? null : (JSON.parse(row.resultJson) as never),
        phase: row.phase,
        attempts: row.attempts,
        errorClass: row.errorClass,
        error: row.error,
        finishedAt: row.finishedAtMs === null ? null : new Date(row.finishedAtMs).toISOString(),
      };
      items.push(toShownItem(item));
      if (items.length >= limit) return items;
    }
  }
  return items;
}

async function storedRow(rowmill: Rowmill, jobId: string, seq: number): Promise<StoredRow> {
  const { generation } = await rowmill.job(jobId);
  const { db } = contextOf(rowmill);
  const [item, { stages, edits }, params] = await Promise.all([
    readItem(db, jobId, generation, seq),
    readItemHistory(db, jobId, generation, seq),
    readJobParams(db, jobId),
  ]);
  if (!item) throw new RowmillError('ITEM_NOT_FOUND', `job ${jobId} has no row ${rowNumber(seq)}`);
  const { status, error_class: errorClass, error, input, result } = item;
  return {
    input,
    inputSince: Math.max(0, ...edits.map((edit) => edit.generation)),
    params,
    startPhase: item.start_phase,
    stages,
    outcome: status === null ? null : { status, errorClass, error, result },
  };
}

/** Stores the file and reads all its rows. Workers in other processes run them. */
async function submitDirectly(
  rowmill: Rowmill,
  { path, pipeline: reference, onProgress: _, ...options }: SubmitRequest,
  signal: AbortSignal,
): Promise<{ jobId: string; created: boolean }> {
  const pipeline = await choosePipeline(reference).catch((error: unknown) => {
    if (error instanceof RowmillError && error.code === 'PIPELINE_NOT_FOUND')
      throw new RowmillError(error.code, error.message, {
        hint: 'On the database, name a pipeline of rowmill.config.ts or a module: --pipeline ./prices.ts#prices',
        cause: error,
      });
    throw error;
  });
  const { jobId, created } = await rowmill.createFileJob(pipeline, path, { ...options, signal });
  const { sealedAt, state } = await rowmill.job(jobId);
  if (sealedAt === null && !isFinished(state)) await rowmill.ingest(jobId, pipeline, { signal });
  return { jobId, created };
}

async function errorsOf(
  rowmill: Rowmill,
  jobId: string,
  request: { limit: number; search?: string | undefined },
): Promise<ShownErrors> {
  const { groups, ...totals } = await readErrorGroups(contextOf(rowmill).db, jobId, request);
  return { groups: groups.map(showErrorGroup).map(toShownError), ...totals };
}

async function* watchDirectly(
  rowmill: Rowmill,
  jobId: string,
  signal: AbortSignal,
): AsyncGenerator<WatchedJob> {
  const look = async (): Promise<WatchedJob> => {
    const [job, errors] = await Promise.all([
      rowmill.job(jobId).then((each) => shown(rowmill, each)),
      errorsOf(rowmill, jobId, { limit: TOP_ERRORS }).then(({ groups }) => groups),
    ]);
    return { job, errors };
  };
  let last = await retryPassing(look, { signal });
  for (;;) {
    yield last;
    if (isFinished(last.job.state)) return;
    await waitMs(REFRESH_MS, signal);
    // The job continues when the database is back, so keep watching.
    last = await look().catch((error: unknown) => {
      if (databaseErrorKind(error) !== 'passing') throw error;
      return { ...last, notice: `the database does not answer: ${(error as Error).message}` };
    });
  }
}
