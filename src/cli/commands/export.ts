// rowmill jobs export <job>: writes the results of a job to a file or to standard output, at any time. Without --out the file
// is named after the input file. On the database, the same command continues an interrupted export.
import { existsSync } from 'node:fs';
import type { FormatName } from '../../core/files/file-format.ts';
import { downloadName } from '../../core/files/download-name.ts';
import { type CsvDelimiter, type OutputFormat, outputLike } from '../../core/files/output-format.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { checkOutputPath } from '../check-output-path.ts';
import { rows } from '../describe-stop.ts';
import { formatOfPath, STANDARD_OUTPUT } from '../format-of-path.ts';
import type { ShownJob } from '../remote/job-port.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { withPort } from '../remote/with-port.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';

export interface ExportOptions extends TargetOptions, RowFilterOptions {
  out?: string;
  format?: OutputFormat;
  unsuccessful?: boolean;
  rejected?: boolean;
  raw?: boolean;
  bom?: boolean;
  delimiter?: CsvDelimiter;
  generation?: number;
  json?: boolean;
}

export async function exportResults(prefix: string, options: ExportOptions): Promise<number> {
  const { unsuccessful, rejected, raw, bom, delimiter, generation } = options;
  if (unsuccessful && rejected) {
    throw new RowmillError('EXPORT_INVALID', 'expected --unsuccessful or --rejected, got both');
  }
  if (options.out !== undefined) checkOutputPath(options.out);
  const given = options.format ?? (options.out === undefined ? undefined : formatOfPath(options.out));
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const kind = rejected ? 'rejected' : unsuccessful ? 'unsuccessful' : 'results';
    const filter = rowFilterOf(options, job);
    const format = given ?? (kind === 'unsuccessful' ? formatOfInput(job) : 'csv');
    const isFiltered = Object.keys(filter).length > 0;
    const out =
      options.out ?? unusedPath(downloadName(job, { part: kind, extension: format, generation, isFiltered }));
    const request = { kind, format, filter, raw, bom, delimiter, generation } as const;
    const count = await port.exportTo(job.jobId, out, request);
    if (out === STANDARD_OUTPUT) return 0;
    if (options.json) console.log(JSON.stringify({ jobId: job.jobId, path: out, rows: count }));
    else console.log(count === null ? `File written to ${out}` : `${rows(count)} written to ${out}`);
    return 0;
  });
}

/** Unsuccessful rows are corrected and submitted again, in the format of their file. */
function formatOfInput({ source }: ShownJob): OutputFormat {
  const format = source?.detected.format;
  return typeof format === 'string' ? outputLike(format as FormatName) : 'csv';
}

/** A default name must not replace an existing file. */
function unusedPath(path: string): string {
  checkOutputPath(path);
  if (existsSync(path))
    throw new RowmillError('EXPORT_INVALID', `${path} already exists`, {
      hint: `Replace it with --out "${path}", or name another file.`,
    });
  return path;
}
