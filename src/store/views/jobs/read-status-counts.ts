import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { ENDED_COUNTS } from './job-counts.ts';

// Rows of each status per phase, by the ledger, and whether rows of the job are unfinished. Index: ledger_pkey, spans_pkey.
const READ_STATUS_COUNTS: Statement = {
  name: 'read-status-counts',
  text: `
    select l.phase, ${ENDED_COUNTS}, exists (select from spans s where s.job_id = $1) as unfinished
    from (select $1::uuid as job_id) j
    left join ledger l on l.job_id = j.job_id
    group by l.phase`,
};

export interface StatusCounts {
  /** Some rows wait or run. */
  hasUnfinished: boolean;
  /** Number of rows with a status that their phase gave them. */
  count: (status: ItemStatus, phase: number | null) => number;
}

interface CountsRow extends Record<string, unknown> {
  phase: number | null;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
  unfinished: boolean;
}

const COLUMNS = {
  DONE: 'done',
  ERROR: 'error',
  NOT_FOUND: 'notFound',
  SKIPPED: 'skipped',
  CANCELLED: 'cancelled',
} as const satisfies Record<ItemStatus, keyof CountsRow>;

export async function readStatusCounts(db: Executor, jobId: string): Promise<StatusCounts> {
  const { rows } = await db.run<CountsRow>(READ_STATUS_COUNTS, [jobId]);
  return {
    hasUnfinished: rows[0]?.unfinished ?? false,
    count: (status, phase) =>
      rows.reduce(
        (sum, row) => (phase === null || row.phase === phase ? sum + row[COLUMNS[status]] : sum),
        0,
      ),
  };
}
