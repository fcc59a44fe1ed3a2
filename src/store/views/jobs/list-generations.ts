import type { ItemStatus } from '../../../core/items/outcome.ts';
import { type GenerationDiff, generationDiff } from '../../../core/jobs/generation-diff.ts';
import { type JobOutcome, outcomeOf } from '../../../core/jobs/job-outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Runs of a job, newest first. The first run has no entry in `generations` and covers all items. Index: jobs_pkey,
// generations_pkey, summaries_pkey.
const LIST_GENERATIONS: Statement = {
  name: 'list-generations',
  text: `
    select n.generation, coalesce(g.selection, '{}') as selection, coalesce(g.selected, j.item_count) as selected,
      coalesce(g.left_out, '{}') as "leftOut", coalesce(g.opened_at, j.created_at) as "openedAt",
      s.created_at as "finishedAt", s.outcome::text as state, s.counts, s.diff
    from jobs j
    cross join lateral generate_series(greatest(1, j.generation - 999), j.generation) as n(generation)
    left join generations g on g.job_id = j.job_id and g.generation = n.generation
    left join summaries s on s.job_id = j.job_id and s.generation = n.generation
    where j.job_id = $1
    order by n.generation desc`,
};

export interface ListedGeneration {
  generation: number;
  selection: unknown;
  selected: number;
  leftOut: Record<string, number>;
  openedAt: Date;
  finishedAt: Date | null;
  /** State and outcome of the run; null if it has not finished or the next one continued it. */
  state: 'DONE' | 'CANCELLED' | 'FAILED' | null;
  outcome: JobOutcome | null;
  counts: Record<ItemStatus, number> | null;
  diff: GenerationDiff | null;
}

export async function listGenerations(db: Executor, jobId: string): Promise<ListedGeneration[]> {
  const { rows } = await db.run<Omit<ListedGeneration, 'outcome'> & Record<string, unknown>>(
    LIST_GENERATIONS,
    [jobId],
  );
  return rows.map((row) => ({
    ...row,
    // Earlier versions stored other sums of the same changes.
    diff: row.diff && generationDiff(row.diff.changes),
    outcome: row.state && row.counts ? outcomeOf(row.state, row.counts) : null,
  }));
}
