import type { Executor, Statement } from '../../../platform/database.ts';
import { withNewColumns } from './reserve-seqs.ts';

// Emitted items get their seqs under the lock of the job's row, which flushes that emit take before any other. So
// seqs have no gaps, and the second of two flushes with the same key sees the first. Flushes that emit nothing never
// lock it.
const LOCK_JOB: Statement = {
  name: 'lock-job-for-children',
  text: 'select item_count from jobs where job_id = $1 for update',
};

// Skips keys that the job already has, duplicates, items beyond the maximum depth and items over the limit. Items are
// numbered by priority and phase, so that each pair is one range of seqs. start_phase is null for the first phase, as it
// is for rows of files. One lookup by key per child: items_by_key,
// items_pkey.
const INSERT_CHILDREN: Statement = {
  name: 'insert-children',
  text: `
    with wanted as materialized (
      select w.item_key, w.input, w.bytes, w.summary, w.parent_seq, w.priority, w.start_phase, w.o, p.depth
      from unnest($2::text[], $3::text[], $4::int[], $5::text[], $6::bigint[], $7::smallint[], $11::smallint[]) with ordinality
        as w(item_key, input, bytes, summary, parent_seq, priority, start_phase, o)
      cross join lateral (select depth from items p where p.job_id = $1 and p.seq = w.parent_seq limit 1) p
    ),
    fresh as materialized (
      select distinct on (w.item_key) w.*
      from wanted w
      left join lateral (select 1 as known from items i where i.job_id = $1 and i.item_key = w.item_key limit 1) k on true
      where w.depth < $9::int and k.known is null
      order by w.item_key, w.o
    ),
    numbered as materialized (
      select f.*, $8::bigint - 1 + row_number() over (order by f.priority desc, f.start_phase, f.o) as seq from fresh f
      order by f.priority desc, f.start_phase, f.o
      limit greatest(0, $10::bigint)
    ),
    added as (
      insert into items (job_id, seq, input_bytes, input, item_key, summary, parent_seq, depth, start_phase)
      select $1, n.seq, n.bytes, n.input::jsonb, n.item_key, n.summary, n.parent_seq, n.depth + 1, nullif(n.start_phase, 0)
      from numbered n
    )
    select n.priority, n.start_phase, min(n.seq), max(n.seq) + 1,
      (select count(*) filter (where w.depth >= $9::int) from wanted w),
      (select count(*) from fresh) - (select count(*) from numbered)
    from numbered n
    group by n.priority, n.start_phase
    union all
    select null, null, null, null, (select count(*) filter (where w.depth >= $9::int) from wanted w), (select count(*) from fresh)
    where not exists (select 1 from numbered)`,
};

const COUNT_CHILDREN: Statement = {
  name: 'count-children',
  text: `
    update jobs
    set item_count = item_count + $2, has_kinds = has_kinds or $7::boolean, input_columns = ${withNewColumns('$6::jsonb')},
        ingest_report = ingest_report || jsonb_build_object(
          'emitted', coalesce((ingest_report ->> 'emitted')::bigint, 0) + $2::bigint,
          'repeated', coalesce((ingest_report ->> 'repeated')::bigint, 0) + $3::bigint,
          'tooDeep', coalesce((ingest_report ->> 'tooDeep')::bigint, 0) + $4::bigint,
          'tooMany', coalesce((ingest_report ->> 'tooMany')::bigint, 0) + $5::bigint)
    where job_id = $1`,
};

export interface NewChild {
  key: string;
  json: string;
  /** Keys of the input. */
  columns: readonly string[];
  bytes: number;
  summary: string;
  parentSeq: number;
  priority: number;
  /** Index of the phase it starts at. */
  phase: number;
}

export interface InsertedChildren {
  /** One range of seqs per priority and phase. */
  ranges: { priority: number; phase: number; from: number; to: number }[];
}

/** Returns the number of items, which is also the next seq; null if there is no such job. */
export async function lockJobForChildren(db: Executor, jobId: string): Promise<number | null> {
  const [row] = await db.runArrays(LOCK_JOB, [jobId]);
  return row ? (row[0] as number) : null;
}

/** Requires the lock of the job's row. */
export async function insertChildren(
  db: Executor,
  jobId: string,
  itemCount: number,
  children: NewChild[],
  bounds: { maxDepth: number; maxItems: number },
): Promise<InsertedChildren> {
  const rows = await db.runArrays(INSERT_CHILDREN, [
    jobId,
    children.map((child) => child.key),
    children.map((child) => child.json),
    children.map((child) => child.bytes),
    children.map((child) => child.summary),
    children.map((child) => child.parentSeq),
    children.map((child) => child.priority),
    itemCount,
    bounds.maxDepth,
    bounds.maxItems - itemCount,
    children.map((child) => child.phase),
  ]);
  const ranges = rows
    .filter((row) => row[2] !== null)
    .map(
      ([priority, phase, from, to]) => ({ priority, phase, from, to }) as InsertedChildren['ranges'][number],
    );
  const added = ranges.reduce((sum, range) => sum + range.to - range.from, 0);
  const tooDeep = (rows[0]?.[4] as number | undefined) ?? 0;
  const tooMany = (rows[0]?.[5] as number | undefined) ?? 0;
  const repeated = children.length - added - tooDeep - tooMany;
  const names = new Set(children.flatMap((child) => child.columns));
  const columns = JSON.stringify([...names].map((name) => ({ key: name, header: name })));
  const hasKinds = ranges.some(({ phase }) => phase > 0);
  await db.run(COUNT_CHILDREN, [jobId, added, repeated, tooDeep, tooMany, columns, hasKinds]);
  return { ranges };
}
