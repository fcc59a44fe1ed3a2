// People count rows from 1. Code, SQL and the API's `seq` count from 0.

/** The number of a row as people read it: on the page, on the command line and in messages. */
export function rowNumber(seq: number): number {
  return seq + 1;
}

/** The position of a row that a person named by its number. */
export function seqOfRow(row: number): number {
  return row - 1;
}
