// rowmill export <job> --out <file>: the results of a job as a file, at any time. An export that was interrupted goes
// on where it was when it is asked for again.
import type { ExportFilter } from '../../core/export-filter.ts';
import type { RowStatus } from '../../core/export-row.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import { openRowmill } from '../../open-rowmill.ts';
import type { Job } from '../../store/views/read-job.ts';
import { findJob } from '../find-job.ts';
import { commandSettings, openServer, type ServerOptions } from '../open-server.ts';
import { writeResults } from '../write-results.ts';

export interface ExportOptions extends ServerOptions {
  out: string;
  status?: string[];
  phase?: string;
  group?: string;
  search?: string;
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
      filter: filterOf(options, job),
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

function filterOf({ status, phase, group, search }: ExportOptions, job: Job): ExportFilter {
  return {
    ...(status && { statuses: status.map((each) => each.trim().toUpperCase() as RowStatus) }),
    ...(phase !== undefined && { phase: phaseOf(job, phase) }),
    ...(group !== undefined && { errorGroup: group }),
    ...(search !== undefined && { search }),
  };
}

function phaseOf(job: Job, name: string): number {
  const index = job.phases.indexOf(name);
  if (index >= 0) return index;
  throw new RowmillError(
    'EXPORT_INVALID',
    `expected a phase of job ${job.jobId} (${job.phases.join(', ')}), got ${name}`,
  );
}
