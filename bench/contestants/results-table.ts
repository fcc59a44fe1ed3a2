// Target table of the upper bound: Rowmill's own `results`, created by its own migration, so the two cannot differ.
import { readFile } from 'node:fs/promises';
import type pg from 'pg';

const MIGRATION = new URL('../../migrations/0004_create_results.sql', import.meta.url);

export async function createResultsTable(client: pg.Client): Promise<void> {
  await client.query(await readFile(MIGRATION, 'utf8'));
}

export const COPY_RESULTS =
  'copy results (job_id, seq, generation, phase, attempt, status, handler_ms, result) from stdin';

/** One row in COPY's text format. The result must need no escaping: no backslash, tab or newline. */
export function resultLine(jobId: string, seq: number, resultJson: string, handlerMs: number): string {
  return `${jobId}\t${seq}\t1\t0\t1\tDONE\t${handlerMs}\t${resultJson}\n`;
}
