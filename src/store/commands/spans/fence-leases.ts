import { formatRanges, type SeqRanges } from '../../../core/items/seq-ranges.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// The fence. Removes the recorded items from their leases, but only if the token is still current and the lease still
// holds all of them. Everything else in the flush depends on what this returns. An empty lease is deleted. Rows are
// locked in span order, so flushes cannot deadlock, and a row that a rescue changes concurrently is checked again
// after the wait.
//
// The array next to each join limits it to the rows of the flush, whichever side the planner starts with. Without it,
// a plan made before the queue grew read all spans of the job once per lease (164,600 rows for 20 leases and 4,000
// spans, now 2,100; before PostgreSQL 17 each part of such a plan reads the spans of the job once, 14,100).
//
// `first` is the number of the first of its four parameters; the job is $1.
export function heldLeases(first: number): string {
  const spans = `$${first}::bigint[]`;
  return `
    held as materialized (
      select s.span_id, s.token, s.items - w.recorded as rest, w.recorded_count
      from unnest(${spans}, $${first + 1}::uuid[], $${first + 2}::int8multirange[], $${first + 3}::bigint[])
        as w(span_id, token, recorded, recorded_count)
      join spans s on s.job_id = $1 and s.span_id = any(${spans}) and s.span_id = w.span_id
      where s.token = w.token and s.items @> w.recorded
      order by s.span_id
      for update of s
    )`;
}

/** Takes the recorded items from the held leases, if the condition is true. */
export function shrinkLeases(first: number, condition: string): string {
  const spans = `$${first}::bigint[]`;
  return `
    kept as (
      update spans s
      set items = h.rest, item_count = s.item_count - h.recorded_count, updated_at = now()
      from held h
      where s.job_id = $1 and s.span_id = any(${spans}) and s.span_id = h.span_id and not isempty(h.rest) and ${condition}
    ),
    emptied as (
      delete from spans s using held h
      where s.job_id = $1 and s.span_id = any(${spans}) and s.span_id = h.span_id and isempty(h.rest) and ${condition}
    )`;
}

const FENCE_LEASES: Statement = {
  name: 'fence-leases',
  text: `with ${heldLeases(2)}, ${shrinkLeases(2, 'true')} select token, isempty(rest) from held`,
};

export interface RecordedLease {
  spanId: number;
  token: string;
  recorded: SeqRanges;
  recordedCount: number;
}

/**
 * Returns the tokens of the leases whose outcomes may be written; the value is true if the lease is empty now. By token,
 * because a span keeps its id when it is lost and claimed again.
 */
export async function fenceLeases(
  db: Executor,
  jobId: string,
  leases: readonly RecordedLease[],
): Promise<Map<string, boolean>> {
  const rows = await db.runArrays(FENCE_LEASES, [jobId, ...fenceValues(leases)]);
  return new Map(rows.map((row) => [row[0] as string, row[1] as boolean]));
}

export function fenceValues(leases: readonly RecordedLease[]): unknown[] {
  return [
    leases.map((lease) => lease.spanId),
    leases.map((lease) => lease.token),
    leases.map((lease) => formatRanges(lease.recorded)),
    leases.map((lease) => lease.recordedCount),
  ];
}
