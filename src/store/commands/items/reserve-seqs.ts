import type { IngestReport } from '../../../core/files/file-format.ts';
import type { InputColumn } from '../../../core/items/input-column.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { INGESTIBLE } from '../../job-states.ts';
import { fromNow } from '../../lease.ts';

/** The columns of a job, plus those of a jsonb array that it does not have yet. */
export const withNewColumns = (
  columns: string,
): string => `case when ${columns} is null then input_columns else input_columns || (
          select coalesce(jsonb_agg(n.c order by n.o), '[]') from jsonb_array_elements(${columns}) with ordinality as n(c, o)
          where not exists (select from jsonb_array_elements(input_columns) as k(c) where k.c ->> 'key' = n.c ->> 'key')
        ) end`;

// Reserves the next seqs of a job for one ingest batch. The row lock on the job orders concurrent batches and makes a
// seal wait for them. A batch whose id is already stored was committed before its reply was lost. A reader of a file
// proves with its token that no other process took over, and renews its lease with every batch.
const RESERVE_SEQS: Statement = {
  name: 'reserve-seqs',
  text: `
    update jobs
    set item_count = item_count + $2, ingest_batch = $3,
        ingest_checkpoint = coalesce($4::jsonb, ingest_checkpoint),
        ingest_expires_at = case when $6::uuid is null then ingest_expires_at
                                 else ${fromNow('$7')} end,
        ingest_takeovers = case when $6::uuid is null then ingest_takeovers else 0 end,
        input_columns = ${withNewColumns('$8::jsonb')},
        ingest_report = ingest_report || coalesce($9::jsonb, '{}')
    where job_id = $1 and sealed_at is null and state in ${INGESTIBLE}
      and ingest_batch is distinct from $3
      and ($5::bigint is null or item_count - coalesce((ingest_report ->> 'emitted')::bigint, 0) = $5)
      and ($6::uuid is null or ingest_token = $6)
    returning item_count - $2 as "firstSeq", generation, priority, trial_items as "trialItems"`,
};

export interface ReservedSeqs {
  firstSeq: number;
  generation: number;
  priority: number;
  /** Items from this seq on are held; null if none are. */
  trialItems: number | null;
}

export interface SeqRequest {
  jobId: string;
  count: number;
  batchId: string;
  checkpoint?: unknown;
  /** The batch must follow exactly this many items, not counting emitted ones; null: append at the current end. */
  expectedCount: number | null;
  /** Lease of the process that reads the file; null if items come from elsewhere. */
  lease: { token: string; leaseMs: number } | null;
  /** Columns that may be new; known columns change nothing. */
  newColumns?: InputColumn[] | undefined;
  report?: IngestReport | undefined;
}

export async function reserveSeqs(db: Executor, request: SeqRequest): Promise<ReservedSeqs | null> {
  const { rows } = await db.run<ReservedSeqs>(RESERVE_SEQS, [
    request.jobId,
    request.count,
    request.batchId,
    jsonOrNull(request.checkpoint),
    request.expectedCount,
    request.lease?.token ?? null,
    request.lease?.leaseMs ?? null,
    jsonOrNull(request.newColumns),
    jsonOrNull(request.report),
  ]);
  return rows[0] ?? null;
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
