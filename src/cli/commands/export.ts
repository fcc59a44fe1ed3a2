// rowmill jobs export <job> --out <file>: writes the results of a job to a file or to standard output, at any time. On the
// database, the same command continues an interrupted export.
import type { OutputFormat } from '../../core/files/output-format.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { checkOutputPath } from '../check-output-path.ts';
import { rows } from '../describe-stop.ts';
import { formatOfPath, STANDARD_OUTPUT } from '../format-of-path.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { withPort } from '../remote/with-port.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';

export interface ExportOptions extends TargetOptions, RowFilterOptions {
  out: string;
  format?: OutputFormat;
  failed?: boolean;
  rejected?: boolean;
  raw?: boolean;
  bom?: boolean;
  generation?: number;
  json?: boolean;
}

export async function exportResults(prefix: string, options: ExportOptions): Promise<number> {
  const { out, failed, rejected, raw, bom, generation } = options;
  if (failed && rejected) {
    throw new RowmillError('EXPORT_INVALID', 'expected --failed or --rejected, got both');
  }
  const format = options.format ?? formatOfPath(out);
  checkOutputPath(out);
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const count = await port.exportTo(job.jobId, out, {
      kind: rejected ? 'rejected' : failed ? 'failed' : 'results',
      format,
      filter: rowFilterOf(options, job),
      raw,
      bom,
      generation,
    });
    if (out === STANDARD_OUTPUT) return 0;
    if (options.json) console.log(JSON.stringify({ jobId: job.jobId, path: out, rows: count }));
    else console.log(count === null ? `File written to ${out}` : `${rows(count)} written to ${out}`);
    return 0;
  });
}
