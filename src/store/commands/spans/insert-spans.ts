import { countSeqs, formatRanges, type SeqRanges } from '../../../core/items/seq-ranges.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Inserts waiting spans: an ingest batch, the next phase, retries, the halves of a crashed lease. Callers send
// delays, never instants: the database clock decides when a span is ready.
const INSERT_SPANS: Statement = {
  name: 'insert-spans',
  text: `
    insert into spans (job_id, generation, phase, items, item_count, priority, ready_at, attempt, failures, crashes)
    select $1, $2, s.phase, s.items, s.item_count, s.priority,
           case when s.delay_ms = 'infinity' then 'infinity' else now() + s.delay_ms * interval '1 millisecond' end, s.attempt, s.failures, s.crashes
    from unnest($3::smallint[], $4::int8multirange[], $5::bigint[], $6::smallint[], $7::float8[], $8::smallint[], $9::text[], $10::smallint[])
      as s(phase, items, item_count, priority, delay_ms, attempt, failures, crashes)`,
};

export interface NewSpan {
  phase: number;
  items: SeqRanges;
  priority: number;
  /** Infinity: held until released. */
  delayMs: number;
  attempt: number;
  /** As in core/errors/failure-counts.ts. */
  failures: string;
  crashes: number;
}

export async function insertSpans(
  db: Executor,
  jobId: string,
  generation: number,
  spans: NewSpan[],
): Promise<void> {
  if (spans.length === 0) return;
  await db.run(INSERT_SPANS, [
    jobId,
    generation,
    spans.map((span) => span.phase),
    spans.map((span) => formatRanges(span.items)),
    spans.map((span) => countSeqs(span.items)),
    spans.map((span) => span.priority),
    spans.map((span) => span.delayMs),
    spans.map((span) => span.attempt),
    spans.map((span) => span.failures),
    spans.map((span) => span.crashes),
  ]);
}
