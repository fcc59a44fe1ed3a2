// The options that choose rows of a job, for commands that export or reprocess them.
import type { Command } from 'commander';
import { checkExportFilter, type ExportFilter } from '../core/files/export-filter.ts';
import type { RowStatus } from '../core/files/export-row.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export interface RowFilterOptions {
  status?: string[];
  phase?: string;
  group?: string;
  search?: string;
}

type JobWithPhases = { jobId: string; phases: readonly string[] };

export function withRowFilter(target: Command): Command {
  return target
    .option('--status <statuses>', 'only rows of these, such as ERROR,NOT_FOUND', (text: string) =>
      text.split(','),
    )
    .option('--phase <name>', 'only rows that ended in this phase')
    .option('--group <signature>', 'only rows of this error group (rowmill errors --json)')
    .option('--search <text>', 'only rows that hold this text');
}

export function rowFilterOf(
  { status, phase, group, search }: RowFilterOptions,
  job: JobWithPhases,
): ExportFilter {
  const filter = {
    ...(status && { statuses: status.map((each) => each.trim().toUpperCase() as RowStatus) }),
    ...(phase !== undefined && { phase: phaseOf(job, phase) }),
    ...(group !== undefined && { errorGroup: group }),
    ...(search !== undefined && { search }),
  };
  // Here, so that a mistake is the same error for every command, over a server or not.
  checkExportFilter(filter);
  return filter;
}

function phaseOf(job: JobWithPhases, name: string): number {
  const index = job.phases.indexOf(name);
  if (index >= 0) return index;
  throw new RowmillError(
    'EXPORT_INVALID',
    `expected a phase of job ${job.jobId} (${job.phases.join(', ')}), got ${name}`,
  );
}
