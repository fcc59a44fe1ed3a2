import { mergeTrends, type Trend } from '../../../core/jobs/trend.ts';
import { unsuccessfulStatus, type UnsuccessfulStatus } from '../../../core/errors/error-triage.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Error groups of the current generation, and those of earlier ones that still have unsuccessful items: largest first, $2
// groups that contain the text $3, after the group with the key $4 to $7. The order changes while the job runs: a group
// that grows past the key is missed by that walk, and one that shrinks behind it appears twice. Each row has the totals,
// which need all groups of the job. A job with one generation has each group once: without the grouping, a page of 100,000
// groups takes a fourth of the time. Trends are read by key, only for the groups shown. Index: error_groups_pkey.
const MATCHES = `($3::text is null or strpos(lower(g.sample), lower($3)) > 0 or strpos(lower(g.signature), lower($3)) > 0)`;
const FOUND = {
  once: `
      select g.phase, g.signature, g.error_class, g.sample, g.sample_seq, g.occurrences, g.failed, g.first_seen, g.last_seen,
             1 as generation, ${MATCHES} as matches
      from error_groups g
      where g.job_id = $1 and g.generation = 1`,
  grouped: `
      select g.phase, g.signature, min(g.error_class) as error_class, min(g.sample) as sample,
             min(g.sample_seq) as sample_seq, sum(g.occurrences)::bigint as occurrences, sum(g.failed)::bigint as failed,
             min(g.first_seen) as first_seen, max(g.last_seen) as last_seen, max(j.generation) as generation,
             bool_or(${MATCHES}) as matches
      from error_groups g join jobs j on j.job_id = g.job_id
      where g.job_id = $1 and (g.generation = j.generation or g.failed > 0)
      group by g.phase, g.signature`,
};
const readErrorGroupsBy = (found: keyof typeof FOUND): Statement => ({
  name: `read-error-groups-${found}`,
  text: `
    with found as ${found === 'once' ? 'not materialized' : 'materialized'} (${FOUND[found]}
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
      select count(*) filter (where matches) as total,
        ${rowsWhere('matches and not is_not_found')} as matching_error, ${rowsWhere('matches and is_not_found')} as matching_not_found,
        ${rowsWhere('not is_not_found')} as all_error, ${rowsWhere('is_not_found')} as all_not_found
      from (select matches, failed, error_class = 'not_found' as is_not_found from found) f
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
});
// Index: jobs_pkey.
const READ_GENERATION: Statement = {
  name: 'read-generation',
  text: 'select generation from jobs where job_id = $1',
};
const READ_ERROR_GROUPS = { once: readErrorGroupsBy('once'), grouped: readErrorGroupsBy('grouped') };

function rowsWhere(condition: string): string {
  return `coalesce(sum(failed) filter (where ${condition}), 0)::bigint`;
}

export interface ErrorGroup {
  phase: number;
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  /** Failed attempts, retried or not. */
  occurrences: number;
  /** Items that ended with this error. */
  rows: number;
  /** The status of these items. */
  status: UnsuccessfulStatus;
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
export type ErrorGroupKey = Pick<ErrorGroup, 'rows' | 'occurrences' | 'signature' | 'phase'>;

export interface ErrorGroups {
  groups: ErrorGroup[];
  /** Number of matching groups, shown or not, and of their items. */
  total: number;
  matching: UnsuccessfulCounts;
  /** Items of all groups. */
  all: UnsuccessfulCounts;
}

/** Failed items and items that were not found, by status. */
export type UnsuccessfulCounts = Record<UnsuccessfulStatus, number>;

export async function readErrorGroups(
  db: Executor,
  jobId: string,
  { limit, after, search }: ErrorGroupsRequest,
): Promise<ErrorGroups> {
  const { rows: jobs } = await db.run<{ generation: number }>(READ_GENERATION, [jobId]);
  const found = jobs[0]?.generation === 1 ? 'once' : 'grouped';
  const key = [after?.rows, after?.occurrences, after?.signature, after?.phase];
  const values = [jobId, limit, search ?? null, ...key.map((value) => value ?? null)];
  const { rows } = await db.run<Record<string, never>>(READ_ERROR_GROUPS[found], values);
  const groups = rows
    .filter((row) => row.signature !== null)
    .map((row) => ({
      phase: row.phase!,
      signature: row.signature!,
      errorClass: row.error_class!,
      sample: row.sample!,
      sampleSeq: row.sample_seq!,
      occurrences: row.occurrences!,
      rows: row.failed!,
      status: unsuccessfulStatus(row.error_class!),
      firstSeen: row.first_seen!,
      lastSeen: row.last_seen!,
      trend: mergeTrends(row.trends!),
    }));
  return {
    groups,
    total: rows[0]?.total ?? 0,
    matching: { ERROR: rows[0]?.matching_error ?? 0, NOT_FOUND: rows[0]?.matching_not_found ?? 0 },
    all: { ERROR: rows[0]?.all_error ?? 0, NOT_FOUND: rows[0]?.all_not_found ?? 0 },
  };
}
