// rowmill export <job> --out <file>: the results of a job as a file or on standard output, at any time. On the database itself an export that
// was interrupted goes on where it was when it is asked for again.
import type { OutputFormat } from '../../core/files/output-format.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { checkOutputPath } from '../check-output-path.ts';
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
    if (out !== STANDARD_OUTPUT)
      console.log(count === null ? `written to ${out}` : `${count} rows written to ${out}`);
    return 0;
  });
}
