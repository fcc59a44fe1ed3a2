// rowmill export <job> --out <file>: the results of a job as a file, at any time. An export that was interrupted goes
// on where it was when it is asked for again.
import { RowmillError } from '../../core/rowmill-error.ts';
import { openRowmill } from '../../open-rowmill.ts';
import { findJob } from '../find-job.ts';
import { commandSettings, openServer, type ServerOptions } from '../open-server.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';
import { writeResults } from '../write-results.ts';

export interface ExportOptions extends ServerOptions, RowFilterOptions {
  out: string;
  failed?: boolean;
  rejected?: boolean;
  raw?: boolean;
  bom?: boolean;
  generation?: number;
}

export async function exportResults(prefix: string, options: ExportOptions): Promise<number> {
  if (options.failed && options.rejected) {
    throw new RowmillError('EXPORT_INVALID', 'expected --failed or --rejected, got both');
  }
  const server = await openServer(options, () => {});
  const rowmill = await openRowmill({ databaseUrl: server.url, settings: commandSettings(options) });
  try {
    const job = await findJob(rowmill, prefix);
    const count = await writeResults(options.out, rowmill, job.jobId, {
      kind: options.rejected ? 'rejected' : options.failed ? 'failed' : 'results',
      filter: rowFilterOf(options, job),
      ...(options.raw && { raw: true }),
      ...(options.bom && { bom: true }),
      ...(options.generation !== undefined && { generation: options.generation }),
    });
    console.log(`${count} rows written to ${options.out}`);
    return 0;
  } finally {
    await rowmill.close();
    await server.stop();
  }
}
