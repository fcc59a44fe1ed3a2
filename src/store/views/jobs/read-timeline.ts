import type { Executor, Statement } from '../../../platform/database.ts';

// Work of a job from $2 to $3, in steps of $4 milliseconds that start at $2. Folded minutes count at their start.
// Reprocessing appends negative numbers to the ledger, which are not work and are left out. Index: ledger_by_time.
const READ_TIMELINE: Statement = {
  name: 'read-timeline',
  text: `
    select (extract(epoch from date_bin($4::float8 * interval '1 millisecond', l.at, $2::timestamptz)) * 1000)::float8 as "atMs",
      sum(greatest(l.done, 0))::bigint as done, sum(greatest(l.error, 0))::bigint as error,
      sum(greatest(l.not_found, 0))::bigint as "notFound", sum(greatest(l.skipped, 0))::bigint as skipped,
      sum(greatest(l.cancelled, 0))::bigint as cancelled, sum(l.advanced)::bigint as advanced,
      sum(l.retried)::bigint as retried, sum(l.handler_ms)::float8 as "handlerMs", sum(l.cost)::float8 as cost
    from ledger l
    where l.job_id = $1 and l.at >= $2::timestamptz and l.at < $3::timestamptz
    group by 1
    order by 1`,
};

export interface TimelineStep {
  atMs: number;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
  advanced: number;
  retried: number;
  /** Sum over all calls. */
  handlerMs: number;
  cost: number;
}

/** Only steps with activity. */
export async function readTimeline(
  db: Executor,
  jobId: string,
  { fromMs, toMs, stepMs }: { fromMs: number; toMs: number; stepMs: number },
): Promise<TimelineStep[]> {
  const { rows } = await db.run<TimelineStep & Record<string, unknown>>(READ_TIMELINE, [
    jobId,
    new Date(fromMs).toISOString(),
    new Date(toMs).toISOString(),
    stepMs,
  ]);
  return rows;
}
