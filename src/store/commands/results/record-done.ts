import type { Executor, Statement } from '../../../platform/database.ts';
import { fenceValues, heldLeases, type RecordedLease, shrinkLeases } from '../spans/fence-leases.ts';
import {
  INSERT_LEDGER,
  LEDGER_VALUES,
  type LedgerCounts,
  type LedgerEntry,
  ledgerValues,
} from './insert-ledger-entry.ts';
import { insertTraceBlocksAt, type TraceBlocks, traceBlockValues } from './insert-trace-blocks.ts';
import { BLOCK_VALUES, blockValues, insertBlocks, type ResultBlock } from './result-block.ts';

// A whole flush as one statement: fence, blocks, rows and ledger entry. It is for the common flush, in which all items
// are DONE and there is nothing else to store; any other flush is a transaction of several statements. If a lease is
// lost, it changes nothing and the caller takes the other way.
const FIRST = { fence: 4, blocks: 8, rows: 8 + BLOCK_VALUES, ledger: 13 + BLOCK_VALUES };
const ALL_HELD = '(select all_held from whole)';
const $row = (offset: number): string => `$${FIRST.rows + offset}`;

const recordDoneText = (others: string): string => `
    with ${heldLeases(FIRST.fence)},
    whole as materialized (select count(*) = cardinality($${FIRST.fence}::bigint[]) as all_held from held),
    ${shrinkLeases(FIRST.fence, ALL_HELD)},
    blocks as (${insertBlocks(FIRST.blocks, ALL_HELD)}),
    rows as (
      insert into result_rows (job_id, generation, phase, seq, attempt, status, handler_ms, cost, result)
      select $1, $2, $3, r.seq, r.attempt, 'DONE', r.handler_ms, r.cost, r.result::jsonb
      from unnest(${$row(0)}::bigint[], ${$row(1)}::smallint[], ${$row(2)}::real[], ${$row(3)}::float8[],
                  string_to_array(${$row(4)}, E'\\n', ''))
        as r(seq, attempt, handler_ms, cost, result)
      where ${ALL_HELD}
    ),
    ${others}
    booked as (
      ${INSERT_LEDGER.columns}
      select ${INSERT_LEDGER.values(FIRST.ledger)} where ${ALL_HELD}
    )
    select token, isempty(rest) from held`;

const RECORD_DONE: Statement = { name: 'record-done', text: recordDoneText('') };
// A statement of its own, so that flushes without traces, which are most, do not pay for them.
const RECORD_DONE_TRACED: Statement = {
  name: 'record-done-traced',
  text: recordDoneText(`traced as (${insertTraceBlocksAt(FIRST.ledger + LEDGER_VALUES, ALL_HELD)}),`),
};

export interface DoneRow {
  seq: number;
  attempt: number;
  handlerMs: number;
  cost: number | null;
  json: string | null;
}

export interface DoneFlush {
  jobId: string;
  generation: number;
  phase: number;
  leases: readonly RecordedLease[];
  blocks: readonly ResultBlock[];
  rows: readonly DoneRow[];
  /** Null if the flush has none. */
  traces: TraceBlocks | null;
  entry: LedgerEntry & { workerId: string };
  counts: LedgerCounts;
}

/** Returns the tokens of the leases, true for those that are empty now; null, with nothing changed, if one is lost. */
export async function recordDone(db: Executor, flush: DoneFlush): Promise<Map<string, boolean> | null> {
  const { jobId, generation, phase, leases, blocks, rows, traces, entry, counts } = flush;
  const held = await db.runArrays(traces === null ? RECORD_DONE : RECORD_DONE_TRACED, [
    jobId,
    generation,
    phase,
    ...fenceValues(leases),
    ...blockValues(blocks),
    rows.map((row) => row.seq),
    rows.map((row) => row.attempt),
    rows.map((row) => Math.round(row.handlerMs * 10) / 10),
    rows.map((row) => row.cost),
    rows.map((row) => row.json ?? '').join('\n'),
    ...ledgerValues(entry, counts),
    ...(traces === null ? [] : traceBlockValues(entry.workerId, traces)),
  ]);
  if (held.length < leases.length) return null;
  return new Map(held.map((row) => [row[0] as string, row[1] as boolean]));
}
