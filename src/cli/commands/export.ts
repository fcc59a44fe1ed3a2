// rowmill export <job> --out <file>: the results of a job as a file, at any time. On the database itself an export that
// was interrupted goes on where it was when it is asked for again.
import { RowmillError } from '../../core/rowmill-error.ts';
import { formatOfPath } from '../format-of-path.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { withPort } from '../remote/with-port.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';

export interface ExportOptions extends TargetOptions, RowFilterOptions {
  out: string;
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
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const count = await port.exportTo(job.jobId, out, {
      kind: rejected ? 'rejected' : failed ? 'failed' : 'results',
      format: formatOfPath(out),
      filter: rowFilterOf(options, job),
      raw,
      bom,
      generation,
    });
    console.log(count === null ? `written to ${out}` : `${count} rows written to ${out}`);
    return 0;
  });
}
