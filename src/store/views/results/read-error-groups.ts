import { mergeTrends, type Trend } from '../../../core/jobs/trend.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Error groups of the current generation, and those of earlier ones that still have failed items: largest first, $2
// groups that contain the text $3, after the group with the key $4 to $7. The order changes while the job runs: a group
// that grows past the key is missed by that walk, and one that shrinks behind it appears twice. Each row has the totals,
// which need all groups of the job: 1.1 s for 100,000 groups, on a machine with other work. Trends are read by key, only
// for the groups shown. Index: error_groups_pkey.
const READ_ERROR_GROUPS: Statement = {
  name: 'read-error-groups',
  text: `
    with found as materialized (
      select g.phase, g.signature, min(g.error_class) as error_class, min(g.sample) as sample,
             min(g.sample_seq) as sample_seq, sum(g.occurrences)::bigint as occurrences, sum(g.failed)::bigint as failed,
             min(g.first_seen) as first_seen, max(g.last_seen) as last_seen, max(j.generation) as generation,
             bool_or($3::text is null or strpos(lower(g.sample), lower($3)) > 0 or strpos(lower(g.signature), lower($3)) > 0) as matches
      from error_groups g join jobs j on j.job_id = g.job_id
      where g.job_id = $1 and (g.generation = j.generation or g.failed > 0)
      group by g.phase, g.signature
    ),
    shown as (
      select * from found f
      where f.matches and ($4::bigint is null or f.failed < $4 or f.failed = $4 and (
        f.occurrences < $5::bigint or f.occurrences = $5 and (f.signature, f.phase) > ($6::text, $7::int)))
      order by failed desc, occurrences desc, signature, phase
      limit $2
    )
    select s.*, t.trends, n.*
    from (
      select count(*) filter (where matches) as total, coalesce(sum(failed) filter (where matches), 0)::bigint as matching_rows,
        coalesce(sum(failed), 0)::bigint as all_rows
      from found
    ) n
    left join shown s on true
    left join lateral (
      select jsonb_agg(jsonb_build_object('fromMs', floor(extract(epoch from g.first_seen) * 1000),
        'stepMs', g.trend_step_s::bigint * 1000, 'counts', g.trend)) as trends
      from generate_series(1, s.generation) as n(generation)
      join error_groups g on g.job_id = $1 and g.generation = n.generation and g.phase = s.phase and g.signature = s.signature
      where g.generation = s.generation or g.failed > 0
    ) t on true
    order by s.failed desc, s.occurrences desc, s.signature, s.phase`,
};

export interface ErrorGroup {
  phase: number;
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  /** Failed attempts, retried or not. */
  occurrences: number;
  /** Items that failed for good with this error. */
  failed: number;
  firstSeen: Date;
  lastSeen: Date;
  /** Failed attempts over time. */
  trend: Trend;
}

export interface ErrorGroupsRequest {
  limit: number;
  /** Starts after this group. */
  after?: ErrorGroupKey | undefined;
  /** A part of the message. */
  search?: string | undefined;
}

/** Groups are ordered by these values. */
export type ErrorGroupKey = Pick<ErrorGroup, 'failed' | 'occurrences' | 'signature' | 'phase'>;

export interface ErrorGroups {
  groups: ErrorGroup[];
  /** Number of matching groups, shown or not, and of their failed items. */
  total: number;
  matchingRows: number;
  /** Failed items of all groups. */
  allRows: number;
}

export async function readErrorGroups(
  db: Executor,
  jobId: string,
  { limit, after, search }: ErrorGroupsRequest,
): Promise<ErrorGroups> {
  const key = [after?.failed, after?.occurrences, after?.signature, after?.phase];
  const values = [jobId, limit, search ?? null, ...key.map((value) => value ?? null)];
  const { rows } = await db.run<Record<string, never>>(READ_ERROR_GROUPS, values);
  const groups = rows
    .filter((row) => row.signature !== null)
    .map((row) => ({
      phase: row.phase!,
      signature: row.signature!,
      errorClass: row.error_class!,
      sample: row.sample!,
      sampleSeq: row.sample_seq!,
      occurrences: row.occurrences!,
      failed: row.failed!,
      firstSeen: row.first_seen!,
      lastSeen: row.last_seen!,
      trend: mergeTrends(row.trends!),
    }));
  const { total = 0, matching_rows: matchingRows = 0, all_rows: allRows = 0 } = rows[0] ?? {};
  return { groups, total, matchingRows, allRows };
}
