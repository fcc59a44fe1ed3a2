// rowmill jobs show: shows one job in detail. Its former name `rowmill status` also lists recent jobs.
import { formatCost } from '../../core/limits/format-cost.ts';
import { unitOfBudget } from '../../core/limits/work-budget.ts';
import type { DetectedFormat, IngestReport } from '../../core/files/file-format.ts';
import type { GenerationDiff } from '../../core/jobs/generation-diff.ts';
import type { OutputFile } from '../../core/files/output-format.ts';
import { shortJobIds } from '../../core/jobs/job-id-prefix.ts';
import type { BudgetStatus } from '../../store/views/limits/read-budgets.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { windowWords } from '../../core/jobs/recent-rate.ts';
import type { PhaseSummary } from '../../core/jobs/summary.ts';
import {
  UNFINISHED_PARTS,
  UNFINISHED_WORDS,
  type UnfinishedPart,
  type UnfinishedRows,
} from '../../core/jobs/unfinished-rows.ts';
import { describeDiff } from '../describe-diff.ts';
import { describeFormat, describeLeftOut, describeReport } from '../describe-file.ts';
import { describeRetention } from '../describe-retention.ts';
import { rows } from '../describe-stop.ts';
import { showUntilOver } from '../live-view.ts';
import { formatCount, formatRate, printable, statusLabel } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { ListedJob, ShownError, ShownJob, ShownSummary } from '../remote/job-port.ts';
import { howItIs } from '../show-progress.ts';
import { withPort } from '../remote/with-port.ts';

const MAX_GROUPS = 10;

export interface StatusOptions extends TargetOptions {
  json?: boolean;
  limit?: number;
  watch?: boolean;
}

export async function status(prefix: string | undefined, options: StatusOptions): Promise<number> {
  return withPort(options, async (port) => {
    if (prefix === undefined) {
      const jobs = await port.listJobs({ limit: options.limit ?? 20 });
      if (options.json) console.log(JSON.stringify(jobs));
      else if (jobs.length === 0) console.log('No jobs yet. Create one with: rowmill run <pipeline> <file>');
      else {
        const shortIds = shortJobIds(jobs.map(({ jobId }) => jobId));
        for (const job of jobs) console.log(describeJob(job, null, shortIds.get(job.jobId)));
      }
      return 0;
    }
    const { json = false } = options;
    const found = await port.findJob(prefix);
    const linesOf = async (job: ShownJob): Promise<string[]> => {
      const [errors, summary] = await Promise.all([
        port.errors(job.jobId, MAX_GROUPS),
        port.summary(job.jobId),
      ]);
      return json ? [JSON.stringify({ ...job, errors, summary })] : [...describeWhole(job, errors, summary)];
    };
    if (options.watch)
      await showUntilOver(async () => {
        const job = await port.job(found.jobId);
        return { lines: await linesOf(job), isOver: howItIs(job) !== 'stopped' };
      }, json);
    else for (const line of await linesOf(found)) console.log(line);
    return 0;
  });
}

/** `parts`: what its unfinished rows wait for; null: their number is enough. */
function describeJob(job: ListedJob, parts: UnfinishedRows | null, shownId = job.jobId): string {
  const { PENDING, PROCESSING, ...finished } = job.counts;
  const all: [string, number][] = [
    ...Object.entries(finished).map(([status, count]) => [statusLabel(status), count] as [string, number]),
    ...(parts
      ? UNFINISHED_PARTS.map((part) => [UNFINISHED_WORDS[part], parts[part]] as [string, number])
      : [['unfinished', PENDING + PROCESSING] as [string, number]]),
  ];
  const counts = all
    .filter(([, count]) => count > 0)
    .map(([label, count]) => `${label} ${formatCount(count)}`);
  const total = `${rows(job.itemCount)}${job.sealed ? '' : ' so far'}`;
  const run = job.generation > 1 ? `, run ${job.generation}` : '';
  return `${shownId}  ${job.state.padEnd(10)}  ${printable(job.pipeline)}  ${printable(job.name)}  ${total}${run}: ${counts.join(', ') || 'nothing yet'}`;
}

function* describeWhole(
  job: ShownJob,
  errors: readonly ShownError[],
  summary: ShownSummary | null,
): Generator<string> {
  yield describeJob(job, job.unfinished);
  for (const [part, reason] of Object.entries(job.waitingBecause))
    yield `  ${formatCount(job.unfinished[part as UnfinishedPart])} ${UNFINISHED_WORDS[part as UnfinishedPart]}: ${printable(reason)}`;
  if (!isFinished(job.state)) yield `  Rate: ${formatRate(job.perSecond)} ${windowWords(job.rateWindowMs)}`;
  if (job.retention.decidedBy === 'job' || job.retention.keepDays > 0)
    yield `  Retention: ${describeRetention(job.retention)}`;
  if (job.eta) yield `  Expected: ${expected(job.eta)}`;
  if (job.blockedBecause) yield `  Blocked: ${printable(job.blockedBecause)}`;
  if (job.slowSummary) yield `  ${printable(job.slowSummary)}`;
  if (job.slowBecause) yield `  Details: ${printable(job.slowBecause)}`;
  if (job.pausedBecause) yield `  Paused: ${printable(job.pausedBecause)}`;
  if (job.cost > 0) yield `  Cost: ${formatCost(job.cost, job.costUnit)}`;
  yield* (job.budgets as unknown as BudgetStatus[]).map((budget) => describeBudget(budget, job.costUnit));
  if (job.budget.perItem !== null) yield `  Budget per row: ${formatCost(job.budget.perItem, job.costUnit)}`;
  if (job.lastError) yield `  Error: ${printable(job.lastError)}`;
  if (job.source) {
    const detected = job.source.detected as unknown as DetectedFormat;
    yield `  File: ${printable(job.source.name)}, ${describeFormat(detected)}`;
  }
  const report = describeReport(job.ingestReport as Partial<IngestReport>);
  if (report) yield `  ${report}`;
  const leftOut = describeLeftOut(job.ingestReport as Partial<IngestReport>);
  if (leftOut) yield `  ${leftOut}`;
  if (summary?.diff) yield `  ${describeDiff(summary.diff as unknown as GenerationDiff)}`;
  for (const phase of (summary?.phases ?? []) as unknown as PhaseSummary[])
    yield describePhase(phase, job.costUnit);
  for (const file of (summary?.files ?? []) as unknown as OutputFile[]) {
    const rowCount = file.rows === null ? '' : `${rows(file.rows)}, `;
    yield `  Output ${file.name}: ${rowCount}${formatCount(file.bytes)} bytes${file.key ? `, ${file.key}` : ''}`;
  }
  for (const group of errors) {
    const phase = printable(job.phases[group.phase] ?? String(group.phase));
    yield `  ${formatCount(group.occurrences)} × ${phase}: ${printable(group.sample).slice(0, 160)}`;
  }
}

function expected({ low, high, basis }: NonNullable<ShownJob['eta']>): string {
  const minute = (time: string): string => `${time.slice(0, 16).replace('T', ' ')} UTC`;
  const range =
    high === null
      ? `not before ${minute(low)}`
      : minute(low) === minute(high)
        ? minute(low)
        : `${minute(low)} to ${minute(high)}`;
  return `${range} (${printable(basis)})`;
}

function describeBudget(
  { scope, max, spent, lost, reserved }: BudgetStatus,
  costUnit: string | null,
): string {
  const amount = (value: number): string => formatCost(value, unitOfBudget(scope, costUnit));
  const whose = scope === 'job' ? 'of the job' : scope === 'owner' ? 'of its owner' : 'of its owner per day';
  const parts = [`${amount(spent)} spent`];
  if (lost > 0) parts.push(`${amount(lost)} held by workers that disappeared`);
  if (reserved > 0) parts.push(`${amount(reserved)} reserved`);
  return `  Budget ${whose}: ${amount(max)}, ${parts.join(', ')}`;
}

function describePhase(phase: PhaseSummary, costUnit: string | null): string {
  const cost = phase.cost > 0 ? `cost ${formatCost(phase.cost, costUnit)}, ` : '';
  const counts = [
    ['done', phase.done],
    ['advanced', phase.advanced],
    ['retried', phase.retried],
    ['failed', phase.error],
    ['not found', phase.notFound],
    ['skipped', phase.skipped],
  ].map(([label, count]) => `${label} ${formatCount(Number(count))}`);
  const seconds = (phase.handlerMs / 1000).toFixed(1);
  return `  Phase ${printable(phase.name)}: ${counts.join(', ')}, ${cost}handler time ${seconds} s in ${formatCount(phase.flushes)} flushes`;
}
