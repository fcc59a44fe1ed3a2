import type { ItemStatus } from '../../core/outcome.ts';
import type { OutputFile } from '../../core/output-format.ts';
import type { Executor, Statement } from '../../platform/database.ts';

// Progress of the current generation: terminal counts from the ledger, the rest from spans. One statement, one
// snapshot, so the parts always add up.
const READ_PROGRESS: Statement = {
  name: 'read-progress',
  text: `
    with j as (select job_id, generation, item_count from jobs where job_id = $1),
    l as (
      select coalesce(sum(done), 0)::bigint as done, coalesce(sum(error), 0)::bigint as error,
             coalesce(sum(not_found), 0)::bigint as not_found, coalesce(sum(skipped), 0)::bigint as skipped,
             coalesce(sum(cancelled), 0)::bigint as cancelled, coalesce(sum(retried), 0)::bigint as retried,
             coalesce(sum(fenced), 0)::bigint as fenced, coalesce(sum(flushes), 0)::bigint as flushes
      from ledger, j where ledger.job_id = $1 and ledger.generation = j.generation
    ),
    s as (
      select coalesce(sum(spans.item_count) filter (where owner is null), 0)::bigint as pending,
             coalesce(sum(spans.item_count) filter (where ready_at = 'infinity'), 0)::bigint as held,
             coalesce(sum(spans.item_count) filter (where owner is not null), 0)::bigint as processing,
             coalesce(sum(spans.item_count) filter (where owner is null and ready_at > now() and ready_at < 'infinity'), 0)::bigint as retrying,
             count(distinct owner)::bigint as workers
      from spans, j where spans.job_id = $1 and spans.generation = j.generation
    )
    select l.*, s.*, j.item_count from l, s, j`,
};

const READ_ERROR_GROUPS: Statement = {
  name: 'read-error-groups',
  text: `
    select g.phase, g.signature, g.error_class, g.sample, g.sample_seq, g.occurrences
    from error_groups g join jobs j on j.job_id = g.job_id and j.generation = g.generation
    where g.job_id = $1
    order by g.occurrences desc, g.signature
    limit $2`,
};

const READ_SUMMARY: Statement = {
  name: 'read-summary',
  text: `
    select generation, outcome, total, counts, phases, timings, files, created_at
    from summaries where job_id = $1 order by generation desc limit 1`,
};

export interface Progress {
  itemCount: number;
  counts: Record<ItemStatus | 'PENDING' | 'PROCESSING', number>;
  /** Of the pending ones: held back by a trial until they are released. */
  held: number;
  retrying: number;
  /** Attempts that were or will be tried again, so far. */
  retried: number;
  fenced: number;
  flushes: number;
  workers: number;
}

export async function readProgress(db: Executor, jobId: string): Promise<Progress | null> {
  const { rows } = await db.run<Record<string, number>>(READ_PROGRESS, [jobId]);
  const row = rows[0];
  if (!row) return null;
  return {
    itemCount: row.item_count!,
    counts: {
      DONE: row.done!,
      ERROR: row.error!,
      NOT_FOUND: row.not_found!,
      SKIPPED: row.skipped!,
      CANCELLED: row.cancelled!,
      PENDING: row.pending!,
      PROCESSING: row.processing!,
    },
    held: row.held!,
    retrying: row.retrying!,
    retried: row.retried!,
    fenced: row.fenced!,
    flushes: row.flushes!,
    workers: row.workers!,
  };
}

export interface ErrorGroup {
  phase: number;
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  occurrences: number;
}

export async function readErrorGroups(db: Executor, jobId: string, limit: number): Promise<ErrorGroup[]> {
  const { rows } = await db.run<Record<string, never>>(READ_ERROR_GROUPS, [jobId, limit]);
  return rows.map((row) => ({
    phase: row.phase!,
    signature: row.signature!,
    errorClass: row.error_class!,
    sample: row.sample!,
    sampleSeq: row.sample_seq!,
    occurrences: row.occurrences!,
  }));
}

export interface PhaseSummary {
  phase: number;
  name: string;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
  advanced: number;
  retried: number;
  flushes: number;
  handlerMs: number;
  bytes: number;
}

export interface Summary {
  generation: number;
  outcome: string;
  total: number;
  counts: Record<ItemStatus, number>;
  phases: PhaseSummary[];
  timings: Record<string, string | number | null>;
  files: OutputFile[];
  createdAt: Date;
}

export async function readSummary(db: Executor, jobId: string): Promise<Summary | null> {
  const { rows } = await db.run<Omit<Summary, 'createdAt'> & { created_at: Date }>(READ_SUMMARY, [jobId]);
  if (!rows[0]) return null;
  const { created_at: createdAt, ...rest } = rows[0];
  return { ...rest, createdAt };
}
