// Every attempt of one item, from the tables of outcomes and the traces of attempts.
import type { LogLine } from '../../../core/items/log-lines.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { resultsOf } from '../results/stored-results.ts';

const MAX_ATTEMPTS = 200;

// A first attempt that succeeded and logged nothing has no trace: an output without a trace is of attempt 1.
// Index: attempt_errors_by_item, stage_outputs_pkey, attempt_traces_pkey, result_rows_pkey, result_blocks_pkey.
const READ_ITEM_TRACE: Statement = {
  name: 'read-item-trace',
  text: `
    with traces as materialized (select * from attempt_traces where job_id = $1 and seq = $2),
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
      select e.generation, e.phase, e.attempt, e.outcome, t.worker_id as "workerId", t.started_at as "startedAt",
        coalesce(t.duration_ms, e.handler_ms) as "durationMs", t.retry_after_ms as "retryAfterMs", e.ended_at as "endedAt",
        e.cost, t.strategy, e.error_class as "errorClass", e.error, t.thrown, t.log,
        coalesce(t.dropped_lines, 0) as "droppedLines"
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
}

interface StoredThrown {
  name: string | null;
  stack: string[];
  causes: { name: string | null; message: string; code: string | null }[];
}

type TraceColumns = Omit<TracedAttempt, 'thrown' | 'log'> & { thrown: string | null; log: string | null };

/** The newest attempts, in their order. */
export async function readItemTrace(db: Executor, jobId: string, seq: number): Promise<TracedAttempt[]> {
  const { rows } = await db.run<TraceColumns>(READ_ITEM_TRACE, [jobId, seq]);
  return rows.map((row) => ({
    ...row,
    thrown: row.thrown === null ? null : (JSON.parse(row.thrown) as StoredThrown),
    log: row.log === null ? [] : (JSON.parse(row.log) as LogLine[]),
  }));
}
