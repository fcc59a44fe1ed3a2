// GET and POST /api/jobs/:jobId/export: results as a file, streamed page by page as the client reads them, or prepared
// in the background.
import type { fileRoutes } from '../../contract/files.ts';
import type { QueryOf } from '../../contract/route.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ErrorGroupRef } from '../../core/files/error-group-ref.ts';
import { checkExportFilter } from '../../core/files/export-filter.ts';
import { parseSeqList } from '../../core/items/parse-seq-list.ts';
import { type BackgroundExport, prepareExport } from '../../engine/exports/prepare-export.ts';
import { runExports } from '../../engine/exports/run-exports.ts';
import { recordAudit } from '../../engine/record-audit.ts';
import { exportJob } from '../../export/export-job.ts';
import { sendDownload } from '../answers/send-download.ts';
import type { ApiContext } from '../api-context.ts';
import { listJobFiles, shownFile } from '../jobs/list-job-files.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import type { Handler } from '../requests/handler.ts';

type ExportQuery = QueryOf<typeof fileRoutes.exportJob>;

const RETRY_MS = 5000;

export const streamExport: Handler<typeof fileRoutes.exportJob> = async (request, context) => {
  const { engine, job, query, signal } = request;
  const asked = requestOf(query);
  return sendDownload(context, request, async () => {
    const { db, settings } = engine;
    const bytesOf = exportJob(db, { ...asked, jobId: job.jobId, pageRows: settings.exportPageRows, signal });
    // Before the first byte is sent, an error can still be answered.
    const { fileName } = await bytesOf.prepare();
    await recordAudit(db, engine, { action: 'job.export', subject: `job ${job.jobId}`, detail: asked });
    return { bytesOf, name: fileName, contentType: bytesOf.contentType };
  });
};

export const prepareInBackground: Handler<typeof fileRoutes.prepareExport> = async (
  { engine, job, query },
  context,
) => {
  const exportId = await prepareExport(engine, job, requestOf(query)).catch((error: unknown) => {
    const isFull = error instanceof RowmillError && error.code === 'TOO_MANY_EXPORTS';
    throw isFull ? new RetryLaterError(error.code, error.message, RETRY_MS) : error;
  });
  const files = await listJobFiles(engine.db, job);
  startExports(context);
  return shownFile(files.find((file) => file.fileId === exportId)!);
};

/** Starts up to `exportsAtOnce` exports in this process. A running one takes the next when it is done. */
function startExports({ background, engine, slots }: ApiContext): void {
  const release = slots.exports.take('', engine.settings.exportsAtOnce);
  if (release) background.start('export', (signal) => runExports(engine, signal).finally(release));
}

function requestOf(query: ExportQuery): BackgroundExport {
  const { format, kind, statuses, phase, errorGroup, errorGroups, search, rows } = query;
  const { generation, columns, raw, bom, delimiter } = query;
  const seqs = rows === undefined ? undefined : parseSeqList(rows);
  if (seqs === null) throw new RowmillError('EXPORT_INVALID', `expected rows such as 0-99,250, got ${rows}`);
  const filter = {
    ...(statuses && { statuses }),
    ...(phase !== undefined && { phase }),
    ...(errorGroup !== undefined && { errorGroup }),
    ...(errorGroups !== undefined && { errorGroups: groupsOf(errorGroups) }),
    ...(search !== undefined && { search }),
    ...(seqs && { seqs }),
  };
  return {
    format,
    ...(kind !== 'results' && { kind }),
    filter,
    ...(generation !== undefined && { generation }),
    ...(columns !== undefined && { columns: columnsOf(columns) }),
    ...(raw !== undefined && { raw }),
    ...(bom !== undefined && { bom }),
    ...(delimiter !== undefined && { delimiter }),
  };
}

function groupsOf(text: string): ErrorGroupRef[] {
  let groups: unknown;
  try {
    groups = JSON.parse(text);
  } catch {
    groups = text;
  }
  checkExportFilter({ errorGroups: groups as ErrorGroupRef[] });
  return groups as ErrorGroupRef[];
}

/** Names separated by commas, or a JSON array for names that contain commas. */
function columnsOf(text: string): string[] {
  if (!text.startsWith('[')) return text.split(',').map((name) => name.trim());
  try {
    const names: unknown = JSON.parse(text);
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names as string[];
  } catch {
    // Reported below.
  }
  throw new RowmillError(
    'EXPORT_INVALID',
    'expected columns to be names separated by commas, or a JSON array of names',
  );
}
