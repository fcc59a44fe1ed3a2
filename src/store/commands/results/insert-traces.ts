// Traces of attempts, inserted by the flush that records their outcomes.
import type { Executor, Statement } from '../../../platform/database.ts';

export interface TraceRow {
  seq: number;
  attempt: number;
  outcome: string;
  /** Time since the start of the attempt. */
  startedAgoMs: number;
  durationMs: number;
  retryAfterMs: number | null;
  strategy: string | null;
  /** JSON without line breaks, as are log lines. */
  thrown: string | null;
  log: string | null;
  droppedLines: number;
}

/**
 * $1 to $3 are job, generation and phase; `first` is the number of the first value of `traceValues`. A second trace of an
 * attempt is ignored, because a trace must never keep an outcome from being stored.
 */
export function insertTracesAt(first: number, condition: string): string {
  const $ = (offset: number): string => `$${first + offset}`;
  return `
    insert into attempt_traces (job_id, seq, generation, phase, attempt, outcome, worker_id, started_at, duration_ms,
                                retry_after_ms, strategy, thrown, log, dropped_lines)
    select $1, t.seq, $2, $3, t.attempt, t.outcome, ${$(0)}::uuid, now() - t.ago_ms * interval '1 millisecond', t.duration_ms,
           t.retry_after_ms, t.strategy, t.thrown, t.log, t.dropped_lines
    from unnest(${$(1)}::bigint[], ${$(2)}::smallint[], ${$(3)}::text[], ${$(4)}::float8[], ${$(5)}::real[], ${$(6)}::float8[],
                ${$(7)}::text[], string_to_array(${$(8)}, E'\\n', ''), string_to_array(${$(9)}, E'\\n', ''), ${$(10)}::int[])
      as t(seq, attempt, outcome, ago_ms, duration_ms, retry_after_ms, strategy, thrown, log, dropped_lines)
    where ${condition}
    on conflict do nothing`;
}

export function traceValues(workerId: string, traces: readonly TraceRow[]): unknown[] {
  return [
    workerId,
    traces.map((trace) => trace.seq),
    traces.map((trace) => trace.attempt),
    traces.map((trace) => trace.outcome),
    traces.map((trace) => Math.round(trace.startedAgoMs)),
    traces.map((trace) => Math.round(trace.durationMs * 10) / 10),
    traces.map((trace) => trace.retryAfterMs),
    traces.map((trace) => trace.strategy),
    traces.map((trace) => trace.thrown ?? '').join('\n'),
    traces.map((trace) => trace.log ?? '').join('\n'),
    traces.map((trace) => trace.droppedLines),
  ];
}

const INSERT_TRACES: Statement = { name: 'insert-traces', text: insertTracesAt(4, 'true') };

export async function insertTraces(
  db: Executor,
  {
    jobId,
    generation,
    phase,
    workerId,
  }: { jobId: string; generation: number; phase: number; workerId: string },
  traces: readonly TraceRow[],
): Promise<void> {
  if (traces.length > 0)
    await db.run(INSERT_TRACES, [jobId, generation, phase, ...traceValues(workerId, traces)]);
}
