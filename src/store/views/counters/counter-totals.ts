import type { Executor, Statement } from '../../../platform/database.ts';
import { addMeasures, sumMeasures } from '../../measure-sums.ts';

// The total of each counter over the owners $2 (or all), and the time of its last change. A screen that follows a
// counter polls this, and reloads its page when the time changes. Index: counter_scopes_pkey,
// counter_scope_deltas_by_scope; reads one row per scope of these owners. Two texts, because an optional condition
// cannot use an index.
function totalsOf(isTheirs: string): string {
  const isCounted = `t.counter_id = c.counter_id ${isTheirs}`;
  return `
    select c.counter_id as "counterId", ${addMeasures(
      sumMeasures('t.measured', 'counter_scopes t', isCounted),
      sumMeasures('t.change', 'counter_scope_deltas t', isCounted),
    )} as measured,
      greatest(
        (select max(t.updated_at) from counter_scopes t where ${isCounted}),
        (select max(t.at) from counter_scope_deltas t where ${isCounted})
      ) as "updatedAt"
    from counters c
    where $1::int is null or c.counter_id = $1`;
}

const TOTALS_OF_ALL: Statement = { name: 'counter-totals', text: totalsOf('') };
const TOTALS_OF_OWNERS: Statement = {
  name: 'counter-totals-of-some',
  text: totalsOf('and t.owner_id = any ($2::text[])'),
};

export interface CounterTotal {
  counterId: number;
  measured: number[];
  /** Null if these owners have no values in it. */
  updatedAt: Date | null;
}

type TotalRow = Omit<CounterTotal, 'measured'> & { measured: string[] };

/** Totals of all counters, or of one. */
export async function counterTotals(
  db: Executor,
  owners: readonly string[] | null,
  counterId: number | null = null,
): Promise<CounterTotal[]> {
  const { rows } = await (owners === null
    ? db.run<TotalRow>(TOTALS_OF_ALL, [counterId])
    : db.run<TotalRow>(TOTALS_OF_OWNERS, [counterId, owners]));
  return rows.map((row) => ({ ...row, measured: row.measured.map(Number) }));
}
