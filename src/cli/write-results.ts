// Writes the results of a job to a file, in the format of its extension.
import { type FileRequest, writeExportFile } from '../export/write-file.ts';
import { contextOf, type Rowmill } from '../open-rowmill.ts';
import { formatOfPath } from './format-of-path.ts';
import { writingTo } from './writing-to.ts';

/** Returns the number of rows. */
export async function writeResults(
  path: string,
  rowmill: Rowmill,
  jobId: string,
  request: Partial<FileRequest> = {},
): Promise<number> {
  const { db, settings } = contextOf(rowmill);
  const format = formatOfPath(path);
  const { rows } = await writingTo(path, () =>
    writeExportFile(db, { jobId, format, pageRows: settings.exportPageRows, ...request }, path),
  );
  return rows;
}
