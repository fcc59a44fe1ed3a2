// Blocks of DONE results as parameters of a statement. The texts of several blocks are one parameter: JSON contains no
// form feed, so nothing is escaped, on either side.
const BETWEEN = '\f';

/** DONE results of neighbouring items, as one row of result_blocks. */
export interface ResultBlock {
  firstSeq: number;
  /** The seq after the last one. */
  upto: number;
  attempt: number;
  /** Number of lines that are not empty. */
  itemCount: number;
  /** A line of JSON per seq. */
  lines: string;
  /** An array of numbers in PostgreSQL's form. */
  handlerMs: string;
  /** The same; empty if no call has a cost. */
  costs: string;
}

/** Number of parameters of `insertBlocks`. */
export const BLOCK_VALUES = 7;

/** Job, generation and phase are the first three parameters; those of the blocks start with number `first`. */
export function insertBlocks(first: number, condition: string): string {
  const $ = (offset: number): string => `$${first + offset}`;
  return `
      insert into result_blocks (job_id, generation, phase, first_seq, seqs, attempt, item_count, lines, handler_ms, costs)
      select $1, $2, $3, b.first_seq, int8range(b.first_seq, b.upto), b.attempt, b.item_count, b.lines, b.handler_ms::real[],
             b.costs::float8[]
      from unnest(${$(0)}::bigint[], ${$(1)}::bigint[], ${$(2)}::smallint[], ${$(3)}::int[], string_to_array(${$(4)}, E'\\f'),
                  string_to_array(${$(5)}, E'\\f'), string_to_array(${$(6)}, E'\\f', ''))
        as b(first_seq, upto, attempt, item_count, lines, handler_ms, costs)
      where ${condition}`;
}

export function blockValues(blocks: readonly ResultBlock[]): unknown[] {
  return [
    blocks.map((block) => block.firstSeq),
    blocks.map((block) => block.upto),
    blocks.map((block) => block.attempt),
    blocks.map((block) => block.itemCount),
    blocks.map((block) => block.lines).join(BETWEEN),
    blocks.map((block) => block.handlerMs).join(BETWEEN),
    blocks.map((block) => block.costs).join(BETWEEN),
  ];
}
