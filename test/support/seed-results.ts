// Inserts results exactly as a test needs them, bypassing the engine.
import type { ItemStatus } from '../../src/core/items/outcome.ts';
import type { TestDatabase } from './test-database.ts';

export interface SeededResult {
  seq: number;
  generation?: number;
  status?: ItemStatus;
  phase?: number;
  attempt?: number;
  errorClass?: string | null;
  error?: string | null;
  /** Undefined: no result. */
  result?: unknown;
}

export async function seedResults(
  database: TestDatabase,
  jobId: string,
  results: SeededResult[],
): Promise<void> {
  await database.query(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, error_class, error, result)
     select $1, r.seq, r.generation, r.phase, r.attempt, r.status, r.error_class, r.error, r.result
     from jsonb_to_recordset($2::jsonb) as r(seq bigint, generation int, phase smallint, attempt smallint,
       status item_status, error_class text, error text, result jsonb)`,
    [
      jobId,
      JSON.stringify(
        results.map((each) => ({
          seq: each.seq,
          generation: each.generation ?? 1,
          phase: each.phase ?? 0,
          attempt: each.attempt ?? 1,
          status: each.status ?? 'DONE',
          error_class: each.errorClass ?? null,
          error: each.error ?? null,
          result: each.result,
        })),
      ),
    ],
  );
}

/** In the format of the flush, in the given order. The empty name marks keys beyond the limit. */
export async function seedResultColumns(
  database: TestDatabase,
  jobId: string,
  names: string[],
  generation = 1,
): Promise<void> {
  await database.query(
    `insert into result_columns (job_id, generation, name, position)
     select $1, $2, n.name, case when n.name = '' then 2147483647 else n.place::int - 1 end
     from unnest($3::text[]) with ordinality as n(name, place)`,
    [jobId, generation, names],
  );
}
