// rowmill status: the newest jobs, or one job in detail.
import { openRowmill, type Rowmill } from '../../open-rowmill.ts';
import { amount } from '../../core/budget-control.ts';
import type { Progress } from '../../store/views/read-progress.ts';
import { type Job, listJobs } from '../../store/views/read-job.ts';
import { describeDiff } from '../describe-diff.ts';
import { describeFormat, describeReport } from '../describe-file.ts';
import { findJob } from '../find-job.ts';
import { openServer, type ServerOptions } from '../open-server.ts';
import { formatCount, printable } from '../progress-lines.ts';

export interface StatusOptions extends ServerOptions {
  json?: boolean;
  limit?: number;
}

export async function status(prefix: string | undefined, options: StatusOptions): Promise<number> {
  const server = await openServer(options, () => {});
  const rowmill = await openRowmill({ databaseUrl: server.url });
  try {
    const jobs =
      prefix === undefined
        ? await listJobs(rowmill.context.db, options.limit ?? 20)
        : [await findJob(rowmill, prefix)];
    const details = await Promise.all(jobs.map((job) => detailsOf(rowmill, job)));
    if (options.json) console.log(JSON.stringify(prefix === undefined ? details : details[0]));
    else if (details.length === 0) console.log('no jobs yet: rowmill run <pipeline> <file>');
    else for (const detail of details) printJob(detail, prefix !== undefined);
    return 0;
  } finally {
    await rowmill.close();
    await server.stop();
  }
}

async function detailsOf(rowmill: Rowmill, job: Job) {
  const [progress, errors, summary, blocked, budgets] = await Promise.all([
    rowmill.progress(job.jobId),
    rowmill.errorGroups(job.jobId, 10),
    rowmill.summary(job.jobId),
    rowmill.blockedBecause(job),
    rowmill.budgets(job.jobId),
  ]);
  return { ...job, progress, errors, summary, blocked, budgets };
}

function describeCost({ cost, fencedCost }: Progress): string {
  return fencedCost > 0
    ? `${amount(cost)}, and ${amount(fencedCost)} for calls that did not count`
    : amount(cost);
}

function printJob(job: Awaited<ReturnType<typeof detailsOf>>, long: boolean): void {
  const counts = Object.entries(job.progress.counts)
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${status.toLowerCase().replace('_', ' ')} ${formatCount(count)}`);
  if (job.progress.held > 0) counts.push(`held ${formatCount(job.progress.held)}`);
  const total = `${formatCount(job.itemCount)} rows${job.sealedAt === null ? ' so far' : ''}`;
  const generation = job.generation > 1 ? `, generation ${job.generation}` : '';
  console.log(
    `${job.jobId}  ${job.state.padEnd(10)}  ${job.pipeline}  ${printable(job.name)}  ${total}${generation}: ${counts.join(', ') || 'nothing yet'}`,
  );
  if (!long) return;
  if (job.blocked) console.log(`  blocked: ${printable(job.blocked)}`);
  if (job.pausedBecause) console.log(`  paused: ${printable(job.pausedBecause)}`);
  if (job.progress.cost > 0) console.log(`  cost: ${describeCost(job.progress)}`);
  for (const { scope, max, spent, lost, reserved } of job.budgets) {
    const whose =
      scope === 'job' ? 'of the job' : scope === 'owner' ? 'of its owner' : 'of its owner per day';
    const parts = [`${amount(spent)} spent`];
    if (lost > 0) parts.push(`${amount(lost)} held by workers that are gone`);
    if (reserved > 0) parts.push(`${amount(reserved)} reserved`);
    console.log(`  budget ${whose}: ${amount(max)}, ${parts.join(', ')}`);
  }
  if (job.budget.perItem !== null) console.log(`  budget per item: ${amount(job.budget.perItem)}`);
  if (job.lastError) console.log(`  error: ${printable(job.lastError)}`);
  if (job.source)
    console.log(`  file: ${printable(job.source.name)}, ${describeFormat(job.source.detected)}`);
  const report = describeReport(job.ingestReport);
  if (report) console.log(`  ${report}`);
  const diff = job.summary?.diff;
  if (diff) console.log(`  ${describeDiff(diff)}`);
  for (const phase of job.summary?.phases ?? []) {
    console.log(
      `  phase ${phase.name}: done ${phase.done}, advanced ${phase.advanced}, retried ${phase.retried}, errors ${phase.error}, ` +
        `not found ${phase.notFound}, skipped ${phase.skipped}, ${phase.cost > 0 ? `cost ${amount(phase.cost)}, ` : ''}handler time ${(phase.handlerMs / 1000).toFixed(1)} s in ${phase.flushes} flushes`,
    );
  }
  for (const file of job.summary?.files ?? []) {
    const rows = file.rows === null ? '' : `${formatCount(file.rows)} rows, `;
    console.log(`  output ${file.name}: ${rows}${formatCount(file.bytes)} bytes, ${file.key}`);
  }
  for (const group of job.errors) {
    console.log(
      `  ${formatCount(group.occurrences)} × ${job.phases[group.phase]}: ${printable(group.sample).slice(0, 160)}`,
    );
  }
}
