import type { Executor, Statement } from '../../platform/database.ts';
import { addMeasures, sumMeasures } from '../measure-sums.ts';

// Of each counter its total over the owners $1 (null: all), and when it last changed: a screen that follows a counter asks
// this again, and reads its page again when the time is another. Index: counter_scopes_pkey, counter_scope_deltas_by_scope;
// reads as many rows as there are scopes.
const COUNTER_TOTALS: Statement = {
  name: 'counter-totals',
  text: `
    select c.counter_id, ${addMeasures(
      sumMeasures(
        's.measured',
        'counter_scopes s',
        's.counter_id = c.counter_id and ($1::text[] is null or s.owner_id = any ($1))',
      ),
      sumMeasures(
        'd.change',
        'counter_scope_deltas d',
        'd.counter_id = c.counter_id and ($1::text[] is null or d.owner_id = any ($1))',
      ),
    )} as measured,
      greatest(
        (select max(s.updated_at) from counter_scopes s where s.counter_id = c.counter_id and ($1::text[] is null or s.owner_id = any ($1))),
        (select max(d.at) from counter_scope_deltas d where d.counter_id = c.counter_id and ($1::text[] is null or d.owner_id = any ($1)))
      ) as updated_at
    from counters c
    where $2::int is null or c.counter_id = $2`,
};

export interface CounterTotal {
  counterId: number;
  measured: number[];
  /** Null when nothing of these owners is in it. */
  updatedAt: Date | null;
}

/** Of all counters, or of one. */
export async function counterTotals(
  db: Executor,
  owners: readonly string[] | null,
  counterId: number | null = null,
): Promise<CounterTotal[]> {
  const { rows } = await db.run<{ counter_id: number; measured: string[]; updated_at: Date | null }>(
    COUNTER_TOTALS,
    [owners, counterId],
  );
  return rows.map((row) => ({
    counterId: row.counter_id,
    measured: row.measured.map(Number),
    updatedAt: row.updated_at,
  }));
}
