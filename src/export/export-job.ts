// The entry point of exports: turns a request into a stream of bytes that reads a fixed generation page by page.
// Nothing is read before the consumer pulls, and no transaction is open between two pulls.
import { createHash } from 'node:crypto';
import { downloadName } from '../core/files/download-name.ts';
import { type ExportColumn, exportColumns, unsuccessfulColumns } from '../core/files/export-columns.ts';
import { checkExportFilter, type ExportFilter } from '../core/files/export-filter.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import type { CsvDialect } from '../core/files/file-format.ts';
import { guardLine } from '../core/files/formula-guard.ts';
import { type CsvDelimiter, OUTPUT_FORMATS, type OutputFormat } from '../core/files/output-format.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { ColumnTypes } from '../core/files/typed-columns.ts';
import type { Executor } from '../platform/database.ts';
import { retryingReads } from '../platform/retry-passing.ts';
import { readExportColumns } from '../store/views/exports/read-export-columns.ts';
import { type Job, readJob } from '../store/views/jobs/read-job.ts';
import { type CsvOptions, exportCsv, STANDARD_CSV } from './export-csv.ts';
import { exportJsonLines, type JsonLinesOptions } from './export-jsonl.ts';
import type { ExportProgress } from './export-progress.ts';
import { checkSheetColumns, exportXlsx } from './export-xlsx.ts';
import { readRejectedRows, readRows } from './read-rows.ts';

export const EXPORT_KINDS = ['results', 'unsuccessful', 'rejected'] as const;
export type ExportKind = (typeof EXPORT_KINDS)[number];

export interface ExportRequest {
  jobId: string;
  /** Default: the current one. Rows without a result in it have their newest earlier result. */
  generation?: number;
  format: OutputFormat;
  /**
   * 'results': all columns. 'unsuccessful': ERROR and NOT_FOUND rows in their input format, to correct and submit again.
   * 'rejected': rows of the file that could not be read.
   */
  kind?: ExportKind;
  filter?: ExportFilter;
  /** Headers of the columns to write, in this order. Default: all. JSON lines are flat objects then. */
  columns?: readonly string[];
  /** CSV: write cells that look like a formula unchanged. */
  raw?: boolean;
  /** CSV: start with a byte order mark, for old versions of Excel. */
  bom?: boolean;
  /** CSV: default ','. Unsuccessful rows have the delimiter of their file. */
  delimiter?: CsvDelimiter;
  /** Maximum rows per statement: settings.exportPageRows. */
  pageRows: number;
  /** Resume after this row; the caller has the bytes up to it. Not for workbooks. */
  afterSeq?: number;
  /** Maximum rows of a sheet, including its header. Default: the limit of the format. */
  sheetRows?: number;
  /** Aborts the export between two pages, with its reason. */
  signal?: AbortSignal;
}

export interface ExportPosition {
  /** The last row that is complete; -1 before the first. */
  seq: number;
  /** Bytes up to that row, counted from the start of this export. */
  bytes: number;
}

export interface PreparedExport {
  generation: number;
  headers: string[];
  /** After the input file, such as products-results.csv. A safe file name. */
  fileName: string;
  /** Equal for requests that produce the same file, so that one can resume another. */
  fingerprint: string;
}

export interface ExportStream extends AsyncIterable<Buffer> {
  readonly contentType: string;
  /** Rows written so far. */
  readonly rowCount: number;
  /** End of the bytes written so far. Workbooks cannot be resumed, so theirs only shows progress. */
  position(): ExportPosition;
  /** Reads the job and its columns. Optional: call it to get errors before the first byte. */
  prepare(): Promise<PreparedExport>;
}

const CONTENT_TYPES: Record<OutputFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  jsonl: 'application/x-ndjson; charset=utf-8',
};

export function exportJob(executor: Executor, request: ExportRequest): ExportStream {
  checkRequest(request);
  const db = retryingReads(executor, request.signal);
  const { format } = request;
  const progress: ExportProgress = { rowCount: 0, seq: request.afterSeq ?? -1, bytes: 0 };
  let opening: Promise<OpenedExport> | null = null;
  const open = (): Promise<OpenedExport> => {
    opening ??= openExport(db, request);
    return opening;
  };
  return {
    contentType: CONTENT_TYPES[format],
    get rowCount() {
      return progress.rowCount;
    },
    position: () => ({ seq: progress.seq, bytes: progress.bytes }),
    prepare: async () => {
      const { job, generation, columns } = await open();
      const headers = columns.map((column) => column.header);
      const fileName = fileNameOf(job, request, generation);
      return { generation, headers, fileName, fingerprint: fingerprintOf(request, generation, columns) };
    },
    async *[Symbol.asyncIterator]() {
      yield* writeRows(db, request, await open(), progress);
    },
  };
}

function fileNameOf(job: Job, { kind = 'results', format, filter = {} }: ExportRequest, generation: number) {
  const isFiltered = Object.keys(filter).length > 0;
  return downloadName(job, { part: kind, extension: format, generation, isFiltered });
}

interface OpenedExport {
  job: Job;
  generation: number;
  columns: ExportColumn[];
}

async function openExport(db: Executor, request: ExportRequest): Promise<OpenedExport> {
  const { jobId, kind = 'results' } = request;
  const job = await readJob(db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const generation = request.generation ?? job.generation;
  if (generation > job.generation) {
    refuse(`generation to be at most ${job.generation}`, generation);
  }
  const all = kind === 'rejected' ? REJECTED_COLUMNS : await columnsOf(db, job, generation, kind);
  const columns = request.columns === undefined ? all : chooseColumns(all, request.columns);
  if (request.format === 'xlsx') checkSheetColumns(columns);
  return { job, generation, columns };
}

async function columnsOf(
  db: Executor,
  job: Job,
  generation: number,
  kind: 'results' | 'unsuccessful',
): Promise<ExportColumn[]> {
  const names = await readExportColumns(db, job, generation);
  const hasParents = hasEmitted(job);
  return kind === 'unsuccessful'
    ? unsuccessfulColumns(names.input, hasParents)
    : exportColumns({ ...names, hasParents });
}

function hasEmitted({ ingestReport }: Job): boolean {
  return (ingestReport.emitted ?? 0) > 0;
}

/** Files may repeat a header; a repeated name selects the next column of that name. */
function chooseColumns(all: ExportColumn[], wanted: readonly string[]): ExportColumn[] {
  const byHeader = new Map<string, ExportColumn[]>();
  for (const column of all) byHeader.set(column.header, [...(byHeader.get(column.header) ?? []), column]);
  const taken = new Map<string, number>();
  return wanted.map((header) => {
    const named = byHeader.get(header) ?? [];
    const place = taken.get(header) ?? 0;
    taken.set(header, place + 1);
    const found = named[Math.min(place, named.length - 1)];
    if (found) return found;
    const known = all.slice(0, MAX_NAMED_COLUMNS).map((column) => column.header);
    return refuse(`columns among ${known.join(', ')}${all.length > known.length ? ' …' : ''}`, header);
  });
}

const MAX_NAMED_COLUMNS = 50;

const REJECTED_COLUMNS: ExportColumn[] = ['line', 'reason', 'raw'].map((key) => ({
  header: key,
  source: { from: 'input', key },
}));

const UNSUCCESSFUL = ['ERROR', 'NOT_FOUND'] as const;

function writeRows(
  db: Executor,
  request: ExportRequest,
  { job, generation, columns }: OpenedExport,
  progress: ExportProgress,
): AsyncGenerator<Buffer> {
  const { jobId, kind = 'results', format, pageRows, afterSeq = -1, signal } = request;
  const filter =
    kind === 'unsuccessful' ? { statuses: UNSUCCESSFUL, ...request.filter } : (request.filter ?? {});
  const rows: AsyncGenerator<ExportRow[]> =
    kind === 'rejected'
      ? readRejectedRows(db, { jobId, pageRows, afterSeq, signal })
      : readRows(db, {
          jobId,
          generation,
          filter,
          pageRows,
          afterSeq,
          itemCount: job.itemCount,
          cellsOnly: format !== 'jsonl',
          withParents: hasEmitted(job) && (format === 'jsonl' || columns.some(isParent)),
          signal,
        });
  switch (format) {
    case 'csv':
      return exportCsv(rows, columns, { ...csvOptions(request, job), progress });
    case 'jsonl':
      return exportJsonLines(rows, columns, { shape: shapeOf(request), progress });
    default:
      return exportXlsx(rows, columns, {
        sheetName: kind[0]!.toUpperCase() + kind.slice(1),
        columnTypes: kind === 'rejected' ? undefined : columnTypesOf(job),
        ...(request.sheetRows === undefined ? {} : { sheetRows: request.sheetRows }),
        progress,
      });
  }
}

function isParent({ source }: ExportColumn): boolean {
  return source.from === 'parent';
}

function columnTypesOf({ ingestCheckpoint }: Job): ColumnTypes | undefined {
  return (ingestCheckpoint as { columnTypes?: ColumnTypes } | null)?.columnTypes;
}

function shapeOf({ kind = 'results', columns }: ExportRequest): NonNullable<JsonLinesOptions['shape']> {
  if (columns !== undefined) return 'cells';
  return kind === 'rejected' ? 'input' : kind;
}

function csvOptions(request: ExportRequest, { source }: Job): CsvOptions {
  const { kind = 'results', raw = false, bom = false, delimiter = ',', afterSeq } = request;
  const isContinued = afterSeq !== undefined && afterSeq >= 0;
  const dialect = source?.detected.csv;
  if (kind !== 'unsuccessful' || dialect === undefined) {
    const style = { ...STANDARD_CSV, bom, delimiter };
    // Failed rows are submitted again, so their guard against formulas must be reversible.
    return kind === 'unsuccessful' ? { style, isReversible: true, isContinued } : { style, raw, isContinued };
  }
  const isUtf8 = /^utf-?8$/i.test(dialect.encoding);
  const style = { ...dialect, bom: bom || dialect.bom || !isUtf8 };
  // A file of one column has no delimiter for the added columns.
  if (dialect.delimiter === '') Object.assign(style, { delimiter: ',', quote: '"', escape: '"' });
  const preamble = preambleOf(dialect, source?.detected.preamble ?? '');
  return { style, isReversible: true, preamble, isContinued };
}

/** Repeats the skipped lines, so that the same skipLines works for the corrected file. */
function preambleOf({ skipLines, lineEnd, delimiter }: CsvDialect, text: string): string {
  const lines = text.split(/\r\n|\r|\n/).map((line) => guardLine(line, delimiter));
  return Array.from({ length: skipLines }, (_, index) => `${lines[index] ?? ''}${lineEnd}`).join('');
}

function fingerprintOf(request: ExportRequest, generation: number, columns: ExportColumn[]): string {
  const { jobId, format, kind = 'results', filter = {}, raw = false, bom = false, delimiter = ',' } = request;
  const { statuses, phase, errorGroup, errorGroups, search, seqs } = filter;
  const groups = errorGroups ?? errorGroup;
  const asked = [jobId, generation, format, kind, statuses, phase, groups, search, seqs, raw, bom, delimiter];
  const headers = columns.map((column) => column.header);
  return createHash('sha256')
    .update(JSON.stringify([asked, headers]))
    .digest('hex');
}

function checkRequest(request: ExportRequest): void {
  const { format, kind = 'results', generation, pageRows, afterSeq, sheetRows, filter } = request;
  if (!OUTPUT_FORMATS.includes(format)) refuse(`format to be one of ${OUTPUT_FORMATS.join(', ')}`, format);
  if (!EXPORT_KINDS.includes(kind)) refuse(`kind to be one of ${EXPORT_KINDS.join(', ')}`, kind);
  if (generation !== undefined && !isWhole(generation, 1))
    refuse('generation to be a number from 1', generation);
  if (!isWhole(pageRows, 1)) refuse('pageRows to be a number from 1', pageRows);
  if (sheetRows !== undefined && !isWhole(sheetRows, 2)) refuse('sheetRows to be a number from 2', sheetRows);
  if (afterSeq !== undefined && (format === 'xlsx' ? afterSeq !== -1 : !isWhole(afterSeq, -1))) {
    refuse(
      format === 'xlsx' ? 'a workbook to start at its beginning' : 'afterSeq to be a number from -1',
      afterSeq,
    );
  }
  if (request.columns?.length === 0) refuse('at least one column', request.columns);
  if (filter === undefined) return;
  checkExportFilter(filter);
  if (kind === 'rejected' && Object.keys(filter).length > 0) refuse('no filter for rejected rows', filter);
  const wrong = filter.statuses?.find((status) => !(UNSUCCESSFUL as readonly string[]).includes(status));
  if (kind === 'unsuccessful' && wrong !== undefined)
    refuse(`unsuccessful rows to be ${UNSUCCESSFUL.join(' or ')}`, wrong);
}

function isWhole(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min;
}

function refuse(expected: string, got: unknown): never {
  throw new RowmillError('EXPORT_INVALID', `expected ${expected}, got ${JSON.stringify(got) ?? String(got)}`);
}
