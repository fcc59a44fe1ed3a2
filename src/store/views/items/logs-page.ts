import type { Executor, Statement } from '../../../platform/database.ts';

const MAX_BLOCKS = 20;
const MAX_BYTES = 1_048_576;

// Blocks with log lines of a job, in the order of their transactions, from the block of a cursor on. A reader that follows
// the job stops at the first open transaction: one that commits later would otherwise be stored before its cursor. Blocks
// restored from another server may be of transactions that are still to come here, so only followers have that bound.
// Index: trace_blocks_logged.
const LOGS_PAGE: Statement = {
  name: 'logs-page',
  text: `
    select (stored_in::text)::bigint as "storedIn", block_id as "blockId", generation, phase, stored_at as "storedAt", traces,
      found
    from (
      select *, count(*) over () as found,
        sum(octet_length(traces)) over (order by stored_in, block_id) - octet_length(traces) as bytes_before
      from (
        select stored_in, block_id, generation, phase, stored_at, traces
        from trace_blocks
        where job_id = $1 and line_count > 0 and (stored_in, block_id) >= ($2::text::xid8, $3::bigint)
          and (not $4::boolean or stored_in < pg_snapshot_xmin(pg_current_snapshot()))
        order by stored_in, block_id
        limit ${MAX_BLOCKS}
      ) b
    ) b
    where bytes_before < ${MAX_BYTES}
    order by stored_in, block_id`,
};

export interface LoggedBlock {
  storedIn: number;
  blockId: number;
  generation: number;
  phase: number;
  storedAt: Date;
  /** A line of JSON per attempt: a StoredTrace. */
  traces: string;
}

export interface LogsFrom {
  storedIn: number;
  blockId: number;
}

/** Starts with the block of `from`. `hasMore`: later blocks may exist. */
export async function logsPage(
  db: Executor,
  jobId: string,
  { storedIn, blockId }: LogsFrom,
  follow: boolean,
): Promise<{ blocks: LoggedBlock[]; hasMore: boolean }> {
  const { rows } = await db.run<LoggedBlock & { found: number }>(LOGS_PAGE, [
    jobId,
    storedIn,
    blockId,
    follow,
  ]);
  const found = rows[0]?.found ?? 0;
  return { blocks: rows, hasMore: found === MAX_BLOCKS || found > rows.length };
}
