import { mergeTrends, type Trend } from '../../../core/jobs/trend.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Error groups of the current generation, and those of earlier ones that still have failed items: largest first, $2
// groups after the first $3, restricted to those that contain the text $4. Each row has the total number of groups.
// Trends are read by key, only for the groups shown, because a job may have many more. Index: error_groups_pkey.
const READ_ERROR_GROUPS: Statement = {
  name: 'read-error-groups',
  text: `
    with found as materialized (
      select g.phase, g.signature, min(g.error_class) as error_class, min(g.sample) as sample,
             min(g.sample_seq) as sample_seq, sum(g.occurrences)::bigint as occurrences, sum(g.failed)::bigint as failed,
             min(g.first_seen) as first_seen, max(g.last_seen) as last_seen, max(j.generation) as generation
      from error_groups g join jobs j on j.job_id = g.job_id
      where g.job_id = $1 and (g.generation = j.generation or g.failed > 0)
        and ($4::text is null or strpos(lower(g.sample), lower($4)) > 0 or strpos(lower(g.signature), lower($4)) > 0)
      group by g.phase, g.signature
    ),
    shown as (
      select * from found
      order by failed desc, occurrences desc, signature, phase
      limit $2 offset $3
    )
    select s.*, t.trends, n.total
    from (select count(*)::bigint as total from found) n
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
  /** Number of largest groups to skip. */
  offset?: number;
  /** A part of the message. */
  search?: string | undefined;
}

/** `total`: number of groups, shown or not. */
export async function readErrorGroups(
  db: Executor,
  jobId: string,
  { limit, offset = 0, search }: ErrorGroupsRequest,
): Promise<{ groups: ErrorGroup[]; total: number }> {
  const values = [jobId, limit, offset, search ?? null];
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
  return { groups, total: rows[0]?.total ?? 0 };
}
