// Results of a job to a file whose name says the format.
import { extname } from 'node:path';
import type { OutputFormat } from '../core/output-format.ts';
import { type FileRequest, writeExportFile } from '../export/write-file.ts';
import type { Rowmill } from '../open-rowmill.ts';

const FORMATS: Record<string, OutputFormat> = { '.jsonl': 'jsonl', '.ndjson': 'jsonl', '.xlsx': 'xlsx' };

/** CSV when the name says none. How many rows. */
export async function writeResults(
  path: string,
  rowmill: Rowmill,
  jobId: string,
  request: Partial<FileRequest> = {},
): Promise<number> {
  const { db, settings } = rowmill.context;
  const format = FORMATS[extname(path).toLowerCase()] ?? 'csv';
  const { rows } = await writeExportFile(
    db,
    { jobId, format, pageRows: settings.exportPageRows, ...request },
    path,
  );
  return rows;
}
