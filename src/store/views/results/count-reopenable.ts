import type { Executor, Statement } from '../../../platform/database.ts';
import { CANDIDATES, type Reopened, type ReopenRequest } from '../../commands/spans/reopen-items.ts';

// Items that reopen-items would take and leave out, by the same candidates and the same guard rails, without taking it. Items in a
// span have not ended. Indexes are those of reopen-items, and so is the time that it takes to find them.
const countText = (candidates: string): string => `
    with open as materialized (
      select coalesce(range_agg(s.items), '{}'::int8multirange) as items from spans s where s.job_id = $1
    ),
    candidates as materialized (${candidates}
    ),
    judged as (
      select $6::boolean and coalesce(c.error_class in ('permanent', 'invalid'), false) as is_permanent,
        $7::int is not null and case when c.generation = 1 then c.attempt
          else (select sum(a.attempt) from results a where a.job_id = $1 and a.seq = c.seq) end >= $7 as is_exhausted
      from candidates c
      where c.generation < $2::int and c.seq <> all ($8::bigint[]) and not (select items from open) @> c.seq
    )
    select count(*) filter (where not is_permanent and not is_exhausted),
      count(*) filter (where is_permanent), count(*) filter (where is_exhausted and not is_permanent)
    from judged`;

const COUNT_REOPENABLE: Record<keyof typeof CANDIDATES, Statement> = {
  notDone: { name: 'count-reopenable-not-done', text: countText(CANDIDATES.notDone) },
  any: { name: 'count-reopenable-any', text: countText(CANDIDATES.any) },
  chosen: { name: 'count-reopenable-chosen', text: countText(CANDIDATES.chosen) },
};

export async function countReopenable(
  db: Executor,
  request: Omit<ReopenRequest, 'startPhase'>,
): Promise<Reopened> {
  const way = request.seqs ? 'chosen' : request.statuses.includes('DONE') ? 'any' : 'notDone';
  const rows = await db.runArrays(COUNT_REOPENABLE[way], [
    request.jobId,
    request.generation,
    request.fromSeq,
    request.toSeq,
    request.statuses,
    request.leaveOutPermanent,
    request.maxAttempts,
    request.except,
    request.seqs,
  ]);
  const [selected, permanent, exhausted] = rows[0] as [number, number, number];
  return { selected, permanent, exhausted };
}
