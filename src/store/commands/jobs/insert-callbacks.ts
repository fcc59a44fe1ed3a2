import type { Executor, Statement } from '../../../platform/database.ts';
import { OPEN } from '../../job-states.ts';

// The process that finishes a job may not know its pipeline, so all possible callbacks are stored. Workers that know
// the pipeline delete those it does not use. A cancelled generation has not completed its phases.
const INSERT_CALLBACKS: Statement = {
  name: 'insert-callbacks',
  text: `
    insert into callbacks (job_id, generation, kind, part, pipeline, pipeline_version)
    select j.job_id, j.generation, c.kind, c.part, j.pipeline, j.pipeline_version
    from jobs j
    cross join lateral (
      select 'phaseDone' as kind, p.part from generate_series(0, cardinality(j.phases) - 1) p (part) where j.state = 'DONE'
      union all select 'itemError', 0
      union all select 'done', 0
    ) c
    where j.job_id = $1
    on conflict (job_id, generation, kind, part) do nothing`,
};

// Phases of running jobs with no items left in them or before them. Indexes: jobs_open, spans by job.
const INSERT_PHASES_DONE: Statement = {
  name: 'insert-phases-done',
  text: `
    insert into callbacks (job_id, generation, kind, part, pipeline, pipeline_version)
    select j.job_id, j.generation, 'phaseDone', p.part, j.pipeline, j.pipeline_version
    from jobs j
    cross join lateral (select min(s.phase) as first from spans s where s.job_id = j.job_id) f
    cross join lateral generate_series(0, f.first - 1) p (part)
    where j.pipeline = $1 and (j.pipeline_version is null or j.pipeline_version = $2)
      and j.state in ${OPEN} and j.sealed_at is not null
    on conflict (job_id, generation, kind, part) do nothing`,
};

const REMOVE_UNWANTED: Statement = {
  name: 'remove-unwanted-callbacks',
  text: `
    delete from callbacks
    where state = 'PENDING' and pipeline = $1 and (pipeline_version is null or pipeline_version = $2)
      and kind = any($3::text[]) and token is null`,
};

/** Part of the transaction that finishes the generation. */
export async function insertCallbacks(tx: Executor, jobId: string): Promise<void> {
  await tx.run(INSERT_CALLBACKS, [jobId]);
}

export async function insertPhasesDone(
  db: Executor,
  pipeline: string,
  version: string | null,
): Promise<void> {
  await db.run(INSERT_PHASES_DONE, [pipeline, version]);
}

export async function removeUnwantedCallbacks(
  db: Executor,
  pipeline: string,
  version: string | null,
  kinds: readonly string[],
): Promise<void> {
  await db.run(REMOVE_UNWANTED, [pipeline, version, kinds]);
}
