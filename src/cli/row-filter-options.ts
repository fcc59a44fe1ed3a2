// Options that select rows of a job, for commands that list, export or rerun them.
import type { Command } from 'commander';
import { nearestName } from '../core/errors/did-you-mean.ts';
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
    .option('--status <statuses>', 'Only rows with these statuses, such as ERROR,NOT_FOUND', (text: string) =>
      text.split(','),
    )
    .option('--phase <name>', 'Only rows that finished in this phase')
    .option('--group <signature>', 'Only rows of this error group, as `rowmill jobs errors` lists it')
    .option('--search <text>', 'Only rows that contain this text');
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
  // Checked here so that every command reports the same error, on the database and over a server.
  checkExportFilter(filter);
  return filter;
}

function phaseOf(job: JobWithPhases, name: string): number {
  const index = job.phases.indexOf(name);
  if (index >= 0) return index;
  const near = nearestName(name, job.phases);
  throw new RowmillError(
    'EXPORT_INVALID',
    `expected a phase of job ${job.jobId} (${job.phases.join(', ')}), got ${name}`,
    { hint: near === null ? `Name one of these phases: ${job.phases.join(', ')}.` : `Did you mean ${near}?` },
  );
}
