// Blocks of traces, inserted by the flush that records the outcomes of their attempts.
import type { Executor, Statement } from '../../../platform/database.ts';

/** Traces of attempts of items that are near each other, as one row of trace_blocks. */
export interface TraceBlock {
  firstSeq: number;
  lastSeq: number;
  /** Log lines of all attempts. */
  lineCount: number;
}

export interface TraceBlocks {
  blocks: readonly TraceBlock[];
  /** A line of JSON per attempt, with `BETWEEN_BLOCKS` after each block but the last. */
  text: Buffer;
}

/** JSON contains no form feed, so the texts of several blocks are one parameter. */
export const BETWEEN_BLOCKS = '\f';

/** Job, generation and phase are the first three parameters; those of the blocks start with number `first`. */
export function insertTraceBlocksAt(first: number, condition: string): string {
  const $ = (offset: number): string => `$${first + offset}`;
  return `
      insert into trace_blocks (job_id, generation, phase, worker_id, first_seq, last_seq, line_count, traces)
      select $1, $2, $3, ${$(0)}::uuid, t.first_seq, t.last_seq, t.line_count, t.traces
      from unnest(${$(1)}::bigint[], ${$(2)}::bigint[], ${$(3)}::int[], string_to_array(${$(4)}::text, E'\\f'))
        as t(first_seq, last_seq, line_count, traces)
      where ${condition}`;
}

export function traceBlockValues(workerId: string, { blocks, text }: TraceBlocks): unknown[] {
  return [
    workerId,
    blocks.map((block) => block.firstSeq),
    blocks.map((block) => block.lastSeq),
    blocks.map((block) => block.lineCount),
    text,
  ];
}

const INSERT_TRACE_BLOCKS: Statement = {
  name: 'insert-trace-blocks',
  text: insertTraceBlocksAt(4, 'true'),
};

export async function insertTraceBlocks(
  db: Executor,
  {
    jobId,
    generation,
    phase,
    workerId,
  }: { jobId: string; generation: number; phase: number; workerId: string },
  traces: TraceBlocks,
): Promise<void> {
  await db.run(INSERT_TRACE_BLOCKS, [jobId, generation, phase, ...traceBlockValues(workerId, traces)]);
}
