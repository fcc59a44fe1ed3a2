// rowmill jobs, items, errors and workers: lists as tables, or as JSON for programs.
import { rowNumber } from '../../contract/row-number.ts';
import { isFinished, type JobState } from '../../core/jobs/job-state.ts';
import { shortJobIds } from '../../core/jobs/job-id-prefix.ts';
import { rows } from '../describe-stop.ts';
import { printedCommand } from '../printed-command.ts';
import { formatCount } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { ListedJob, ShownItem } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';
import { textTable } from '../text-table.ts';

const MAX_CELL = 60;

interface ListOptions extends TargetOptions {
  json?: boolean;
  limit?: number;
}

export interface JobsOptions extends ListOptions {
  state?: JobState[];
  pipeline?: string;
  search?: string;
}

export async function listJobsOf(options: JobsOptions): Promise<number> {
  return withPort(options, async (port) => {
    const { limit = 20, state: states, pipeline, search } = options;
    const jobs = await port.listJobs({ limit, states, pipeline, search });
    print(
      options,
      jobs,
      'No jobs',
      ['Job', 'State', 'Pipeline', 'Name', 'Owner', 'Rows', 'Finished', 'Failed', 'Created'],
      jobCells(shortJobIds(jobs.map(({ jobId }) => jobId))),
    );
    return 0;
  });
}

function jobCells(shortIds: ReadonlyMap<string, string>): (job: ListedJob) => string[] {
  return ({ jobId, state, pipeline, name, ownerId, itemCount, sealed, counts, createdAt }) => [
    shortIds.get(jobId)!,
    state,
    pipeline,
    shorten(name),
    ownerId,
    `${formatCount(itemCount)}${sealed || isFinished(state) ? '' : '+'}`,
    formatCount(Math.max(0, itemCount - counts.PENDING - counts.PROCESSING)),
    formatCount(counts.ERROR),
    createdAt.slice(0, 16).replace('T', ' '),
  ];
}

export async function listItemsOf(prefix: string, options: ListOptions & RowFilterOptions): Promise<number> {
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const { limit = 50 } = options;
    const items = await port.items(job.jobId, { filter: rowFilterOf(options, job), limit });
    print(options, items, 'No rows', ['Row', 'Status', 'Attempts', 'Input', 'Result or error'], itemCells);
    if (!options.json && items.length === limit)
      console.error(
        `First ${rows(limit)}. Use --limit to see more, or rowmill jobs export to write all rows to a file.`,
      );
    return 0;
  });
}

function itemCells({ row, status, attempts, input, result, error, errorClass }: ShownItem): string[] {
  const outcome = error === null ? (result === null ? '' : cells(result)) : `${errorClass}: ${error}`;
  return [
    String(row),
    status,
    attempts === null ? '' : String(attempts),
    shorten(cells(input)),
    shorten(outcome),
  ];
}

/** Formats an object as key=value pairs. */
function cells(value: unknown): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([key, each]) => `${key}=${typeof each === 'string' ? each : JSON.stringify(each)}`)
    .join(' ');
}

export async function listErrorsOf(
  prefix: string,
  options: ListOptions & { search?: string },
): Promise<number> {
  return withPort(options, async (port) => {
    const { jobId, phases, pipeline } = await port.findJob(prefix);
    const { limit = 50, search } = options;
    const { groups, total, matchingRows, allRows } = await port.errorPage(jobId, { limit, search });
    print(
      options,
      groups,
      'No errors',
      [
        'Rows',
        'Share',
        'Attempts',
        'Phase',
        'First seen',
        'Last seen',
        'Who can fix it',
        'Suggested',
        'Row',
        'Group',
      ],
      (group) => [
        formatCount(group.failed),
        !(allRows > 0) ? '' : `${Math.round((group.failed / allRows) * 100)} %`,
        formatCount(group.occurrences),
        phases[group.phase] ?? String(group.phase),
        shortTime(group.firstSeen),
        shortTime(group.lastSeen),
        // Older servers do not know these.
        group.fixer ?? '',
        group.suggestion ?? '',
        String(rowNumber(group.sampleSeq)),
        group.signature,
      ],
    );
    if (!options.json && groups.length < total)
      console.error(
        `The largest ${formatCount(groups.length)} of ${formatCount(total)} groups with ${rows(matchingRows)}. Use --limit to see more, or --search to find some.`,
      );
    const example = groups.find(({ signature }) => !signature.startsWith('not_found:')) ?? groups[0];
    if (example !== undefined && !options.json) {
      const row = String(rowNumber(example.sampleSeq));
      const words = ['try', pipeline, '--from', jobId, '--row', row];
      console.error(`Try an example row, here row ${row}, with: ${printedCommand(words, options)}`);
    }
    return 0;
  });
}

export async function listWorkersOf(options: ListOptions): Promise<number> {
  return withPort(options, async (port) => {
    const workers = await port.workers();
    print(
      options,
      workers,
      'No workers. Start one with: rowmill worker [pipelines...]',
      ['Worker', 'Name', 'Version', 'State', 'Pipelines', 'Started', 'Last seen'],
      (worker) => [
        worker.workerId,
        worker.name,
        worker.version,
        worker.alive ? 'alive' : 'silent',
        worker.pipelines.join(', '),
        worker.startedAt.slice(0, 19).replace('T', ' '),
        worker.heartbeatAt.slice(0, 19).replace('T', ' '),
      ],
    );
    return 0;
  });
}

function print<Row>(
  { json }: { json?: boolean },
  rows: readonly Row[],
  none: string,
  headers: readonly string[],
  toCells: (row: Row) => string[],
): void {
  if (json) console.log(JSON.stringify(rows));
  else if (rows.length === 0) console.log(none);
  else console.log(textTable(headers, rows.map(toCells)).join('\n'));
}

function shortTime(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

function shorten(text: string): string {
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}
