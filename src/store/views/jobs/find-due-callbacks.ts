import type { Executor, Statement } from '../../../platform/database.ts';
import { CALLBACK_LEASE } from '../../lease.ts';

// Called once a second per worker, for all its pipelines. Index: callbacks_due.
const FIND_DUE: Statement = {
  name: 'find-due-callbacks',
  text: `
    select p.name from unnest($1::text[]) p (name)
    where exists (
      select 1 from callbacks c
      where c.pipeline = p.name and c.state = 'PENDING' and c.next_attempt_at <= now() and ${CALLBACK_LEASE.isFree('c')}
    )`,
};

/** Names of pipelines that have due callbacks. */
export async function findDueCallbacks(db: Executor, pipelines: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_DUE, [pipelines])).map((row) => row[0] as string));
}
