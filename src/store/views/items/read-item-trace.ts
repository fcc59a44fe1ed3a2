// Every attempt of one item, from the tables of outcomes and the traces of attempts.
import type { FetchRecord } from '../../../core/items/fetch-records.ts';
import type { LogLine } from '../../../core/items/log-lines.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { resultsOf } from '../results/stored-results.ts';
import { parseTrace, type StoredThrown, TRACE_BLOCK_SEQS } from './stored-trace.ts';

const MAX_ATTEMPTS = 200;

// A first attempt that succeeded and logged nothing has no trace: an output without a trace is of attempt 1.
// Index: attempt_errors_by_item, stage_outputs_pkey, trace_blocks_pkey, result_rows_pkey, result_blocks_pkey.
const READ_ITEM_TRACE: Statement = {
  name: 'read-item-trace',
  text: `
    with traces as materialized (
      select b.generation, b.phase, b.worker_id, b.stored_at, l.line, (l.line::json ->> 'attempt')::smallint as attempt,
        l.line::json ->> 'outcome' as outcome
      from trace_blocks b
      cross join lateral unnest(string_to_array(b.traces, E'\\n')) as l(line)
      where b.job_id = $1 and b.first_seq > $2 - ${TRACE_BLOCK_SEQS} and b.first_seq <= $2 and b.last_seq >= $2
        and starts_with(l.line, '{"seq":' || $2::bigint || ',')
    ),
    ended as (
      select generation, phase, attempt, 'retry' as outcome, null::real as handler_ms, cost, error_class, error,
        failed_at as ended_at
      from attempt_errors where job_id = $1 and seq = $2
      union all
      select r.generation, r.phase, r.attempt, lower(r.status::text), r.handler_ms, r.cost, r.error_class, r.error, r.finished_at
      from ${resultsOf('$2')} r
      union all
      select s.generation, s.phase, coalesce(t.attempt, 1), 'advanced', null, s.cost, null, null, null
      from stage_outputs s
      left join traces t on t.generation = s.generation and t.phase = s.phase and t.outcome = 'advanced'
      where s.job_id = $1 and s.seq = $2
    ),
    newest as (
      select e.generation, e.phase, e.attempt, e.outcome, t.worker_id as "workerId", t.stored_at as "storedAt",
        e.handler_ms as "handlerMs", e.ended_at as "endedAt", e.cost, e.error_class as "errorClass", e.error, t.line
      from ended e left join traces t using (generation, phase, attempt)
      order by e.generation desc, e.phase desc, e.attempt desc
      limit ${MAX_ATTEMPTS}
    )
    select * from newest order by generation, phase, attempt`,
};

export interface TracedAttempt {
  generation: number;
  phase: number;
  attempt: number;
  outcome: 'advanced' | 'retry' | 'done' | 'error' | 'not_found' | 'skipped' | 'cancelled';
  /** Null for an attempt without a trace, as are the start, strategy and thrown error. */
  workerId: string | null;
  startedAt: Date | null;
  durationMs: number | null;
  retryAfterMs: number | null;
  endedAt: Date | null;
  cost: number | null;
  strategy: string | null;
  errorClass: string | null;
  error: string | null;
  thrown: StoredThrown | null;
  log: LogLine[];
  droppedLines: number;
  fetches: FetchRecord[];
  droppedFetches: number;
  /** From the claim of the item to its start; null for an attempt without a trace. */
  queuedMs: number | null;
  /** The limit that it waited for meanwhile; null: none. */
  queuedFor: 'rate_limit' | 'budget' | null;
}

type TraceColumns = Pick<
  TracedAttempt,
  'generation' | 'phase' | 'attempt' | 'outcome' | 'workerId' | 'endedAt' | 'cost' | 'errorClass' | 'error'
> & { storedAt: Date | null; handlerMs: number | null; line: string | null };

/** The newest attempts, in their order. */
export async function readItemTrace(db: Executor, jobId: string, seq: number): Promise<TracedAttempt[]> {
  const { rows } = await db.run<TraceColumns>(READ_ITEM_TRACE, [jobId, seq]);
  return rows.map(({ line, storedAt, handlerMs, ...row }) => {
    const trace = line === null ? null : parseTrace(line);
    return {
      ...row,
      startedAt: trace && storedAt && new Date(storedAt.getTime() - trace.agoMs),
      durationMs: trace?.durationMs ?? handlerMs,
      retryAfterMs: trace?.retryAfterMs ?? null,
      strategy: trace?.strategy ?? null,
      thrown: trace?.thrown ?? null,
      log: trace?.log ?? [],
      droppedLines: trace?.droppedLines ?? 0,
      fetches: trace?.fetches ?? [],
      droppedFetches: trace?.droppedFetches ?? 0,
      queuedMs: trace && (trace.waitedMs ?? 0),
      queuedFor: trace?.waitedFor ?? null,
    };
  });
}
