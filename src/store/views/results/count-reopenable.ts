import type { Executor, Statement } from '../../../platform/database.ts';
import {
  CANDIDATES,
  candidatesFor,
  judgedFrom,
  type Reopened,
  type ReopenRequest,
} from '../../commands/spans/reopen-items.ts';

// Counts the items that reopen-items would take and leave out, by the same candidates and conditions, without taking
// them. Items in a span are not complete. Indexes and duration are those of reopen-items.
const countText = (candidates: string): string => `${judgedFrom(candidates, '$8')}
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
  const rows = await db.runArrays(COUNT_REOPENABLE[candidatesFor(request)], [
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
