import type { Executor, Statement } from '../../../platform/database.ts';
import { CALLBACK_LEASE, fromNow } from '../../lease.ts';

// Among due callbacks: phases first, then failed items, then completion. Index: callbacks_due. The search is
// materialized: if the planner expects one row in the table, it would run the search as the inner side of the join,
// once per row, and lock a different row each time. Such rows were leased for 90 seconds and never called.
const CLAIM_CALLBACK: Statement = {
  name: 'claim-callback',
  text: `
    with d as materialized (
      select job_id, generation, kind, part from callbacks
      where state = 'PENDING' and pipeline = $1 and (pipeline_version is null or pipeline_version = $2)
        and kind = any($3::text[]) and next_attempt_at <= now() and ${CALLBACK_LEASE.isFree()}
      order by next_attempt_at, array_position(array['phaseDone', 'itemError', 'done'], kind), part
      limit 1
      for update skip locked
    )
    update callbacks c
    set ${CALLBACK_LEASE.take('$4', '$5')}, attempts = c.attempts + 1
    from d
    where c.job_id = d.job_id and c.generation = d.generation and c.kind = d.kind and c.part = d.part
    returning c.job_id, c.generation, c.kind, c.part, c.told_seq, c.attempts`,
};

const END_CALLBACK: Statement = {
  name: 'end-callback',
  text: `
    update callbacks
    set state = $6, ${CALLBACK_LEASE.release}, last_error = $7, next_attempt_at = ${fromNow('$8')},
        told_seq = coalesce($9, told_seq), attempts = $10
    where job_id = $1 and generation = $2 and kind = $3 and part = $4 and token = $5 and state = 'PENDING'`,
};

export type CallbackKind = 'done' | 'itemError' | 'phaseDone';

export interface ClaimedCallback {
  jobId: string;
  generation: number;
  kind: CallbackKind;
  part: number;
  toldSeq: number;
  /** Includes this attempt. */
  attempts: number;
  token: string;
}

export async function claimCallback(
  db: Executor,
  request: {
    pipeline: string;
    version: string | null;
    kinds: readonly CallbackKind[];
    token: string;
    leaseMs: number;
  },
): Promise<ClaimedCallback | null> {
  const { pipeline, version, kinds, token, leaseMs } = request;
  const rows = await db.runArrays(CLAIM_CALLBACK, [pipeline, version, kinds, token, leaseMs]);
  const row = rows[0];
  if (!row) return null;
  return {
    jobId: row[0] as string,
    generation: row[1] as number,
    kind: row[2] as CallbackKind,
    part: row[3] as number,
    toldSeq: row[4] as number,
    attempts: row[5] as number,
    token,
  };
}

export interface CallbackResult {
  state: 'PENDING' | 'DONE' | 'DEAD';
  error?: string;
  delayMs?: number;
  /** Failed items up to this seq have been reported. */
  toldSeq?: number;
  attempts: number;
}

/** Returns false if another process has the callback by now. */
export async function endCallback(
  db: Executor,
  { jobId, generation, kind, part, token }: ClaimedCallback,
  { state, error, delayMs = 0, toldSeq, attempts }: CallbackResult,
): Promise<boolean> {
  const key = [jobId, generation, kind, part, token];
  const values = [...key, state, error ?? null, delayMs, toldSeq ?? null, attempts];
  return (await db.run(END_CALLBACK, values)).rowCount === 1;
}
