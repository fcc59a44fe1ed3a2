// rowmill jobs, items, errors and workers: lists as tables, or as JSON for programs.
import { rowNumber } from '../../contract/row-number.ts';
import { isFinished, type JobState } from '../../core/jobs/job-state.ts';
import { shortJobIds } from '../../core/jobs/job-id-prefix.ts';
import { rows } from '../describe-stop.ts';
import { showUntilOver } from '../live-view.ts';
import { printedCommand } from '../printed-command.ts';
import { formatCount } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { ListedJob, ShownError, ShownItem, ShownWorker } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { type RowFilterOptions, rowFilterOf } from '../row-filter-options.ts';
import { howItIs } from '../show-progress.ts';
import { textTable } from '../text-table.ts';

interface ListOptions extends TargetOptions {
  json?: boolean;
  watch?: boolean;
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
    await list(
      options,
      async () => ({
        items: await port.listJobs({ limit, states, pipeline, search }),
        isOver: false,
      }),
      {
        none: 'No jobs',
        headers: ['Job', 'State', 'Pipeline', 'Name', 'Owner', 'Rows', 'Finished', 'Failed', 'Created'],
        drop: ['Owner', 'Created', 'Pipeline', 'Failed', 'Name', 'Rows', 'Finished'],
        toCells: (jobs: readonly ListedJob[]) =>
          jobs.map(jobCells(shortJobIds(jobs.map(({ jobId }) => jobId)))),
      },
    );
    return 0;
  });
}

function jobCells(shortIds: ReadonlyMap<string, string>): (job: ListedJob) => string[] {
  return ({ jobId, state, pipeline, name, ownerId, itemCount, sealed, counts, createdAt }) => [
    shortIds.get(jobId)!,
    state,
    pipeline,
    name,
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
    const filter = rowFilterOf(options, job);
    const items = await list(
      options,
      async () => {
        // Read before the rows, so that the rows of a job that is over are the last ones.
        const isOver = options.watch === true && howItIs(await port.job(job.jobId)) !== 'stopped';
        return { items: await port.items(job.jobId, { filter, limit }), isOver };
      },
      {
        none: 'No rows',
        headers: ['Row', 'Status', 'Attempts', 'Input', 'Result or error'],
        drop: ['Attempts', 'Input'],
        toCells: (rows: readonly ShownItem[]) => rows.map(itemCells),
      },
    );
    if (!options.json && items.length === limit)
      console.error(
        `First ${rows(limit)}. Use --limit to see more, or rowmill jobs export to write all rows to a file.`,
      );
    return 0;
  });
}

function itemCells({ row, status, attempts, input, result, error, errorClass }: ShownItem): string[] {
  const outcome = error === null ? (result === null ? '' : cells(result)) : `${errorClass}: ${error}`;
  return [String(row), status, attempts === null ? '' : String(attempts), cells(input), outcome];
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
    const { groups, total, matching, all: counts } = await port.errorPage(jobId, { limit, search });
    await list(options, async () => ({ items: groups, isOver: true }), {
      none: 'No errors',
      headers: [
        'Rows',
        'Status',
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
      drop: [
        'Attempts',
        'First seen',
        'Last seen',
        'Share',
        'Status',
        'Row',
        'Who can fix it',
        'Suggested',
        'Phase',
      ],
      toCells: (all: readonly ShownError[]) =>
        all.map((group) => [
          formatCount(group.rows),
          group.status === 'ERROR' ? 'failed' : 'not found',
          group.rows === 0 ? '' : `${Math.round((group.rows / counts[group.status]) * 100)} %`,
          formatCount(group.occurrences),
          phases[group.phase] ?? String(group.phase),
          shortTime(group.firstSeen),
          shortTime(group.lastSeen),
          // Older servers do not know these.
          group.fixer ?? '',
          group.suggestion ?? '',
          String(rowNumber(group.sampleSeq)),
          group.signature,
        ]),
    });
    if (!options.json && groups.length < total)
      console.error(
        `The largest ${formatCount(groups.length)} of ${formatCount(total)} groups with ${rows(matching.ERROR)} failed, ${formatCount(matching.NOT_FOUND)} not found. Use --limit to see more, or --search to find some.`,
      );
    const example = groups.find(({ status }) => status === 'ERROR') ?? groups[0];
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
    await list(options, async () => ({ items: workers, isOver: true }), {
      none: 'No workers. Start one with: rowmill worker [pipelines...]',
      headers: ['Worker', 'Name', 'Version', 'State', 'Pipelines', 'Started', 'Last seen'],
      drop: ['Version', 'Started', 'Pipelines', 'Last seen'],
      toCells: (all: readonly ShownWorker[]) =>
        all.map((worker) => [
          worker.workerId,
          worker.name,
          worker.version,
          worker.alive ? 'alive' : 'silent',
          worker.pipelines.join(', '),
          worker.startedAt.slice(0, 19).replace('T', ' '),
          worker.heartbeatAt.slice(0, 19).replace('T', ' '),
        ]),
    });
    return 0;
  });
}

interface ListShape<Item> {
  /** Shown if there are no entries. */
  none: string;
  headers: readonly string[];
  /** Columns that a narrow terminal leaves out, in this order. */
  drop: readonly string[];
  toCells: (items: readonly Item[]) => string[][];
}

function shortTime(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

/** Prints a list once, or with --watch until it is over. Returns the entries shown last. */
async function list<Item>(
  { json = false, watch = false }: { json?: boolean; watch?: boolean },
  look: () => Promise<{ items: readonly Item[]; isOver: boolean }>,
  { none, headers, drop, toCells }: ListShape<Item>,
): Promise<readonly Item[]> {
  let shown: readonly Item[] = [];
  const table = (): string[] => (shown.length === 0 ? [none] : textTable(headers, toCells(shown), { drop }));
  if (!watch) {
    shown = (await look()).items;
    console.log(json ? JSON.stringify(shown) : table().join('\n'));
    return shown;
  }
  await showUntilOver(async () => {
    const { items, isOver } = await look();
    shown = items;
    return { lines: json ? items.map((item) => JSON.stringify(item)) : table(), isOver };
  }, json);
  return shown;
}
