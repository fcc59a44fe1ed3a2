import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = 'counter_id as "counterId", name, scope, entity, measures, shared, created_at as "createdAt"';

// Index: counters_name_key. There are as many counters as definitions in code.
const FIND_COUNTER: Statement = {
  name: 'find-counter',
  text: `select ${COLUMNS} from counters where name = $1`,
};

const LIST_COUNTERS: Statement = {
  name: 'list-counters',
  text: `select ${COLUMNS} from counters order by name`,
};

export interface StoredCounter {
  counterId: number;
  name: string;
  /** Labels of a scope and an entity. */
  scope: string;
  entity: string;
  /** In stored order. */
  measures: string[];
  /** One set of values for all owners. */
  shared: boolean;
  createdAt: Date;
}

/** Returns null if no worker has registered it. */
export async function findCounter(db: Executor, name: string): Promise<StoredCounter | null> {
  return (await db.run<StoredCounter>(FIND_COUNTER, [name])).rows[0] ?? null;
}

/** All counters by name, for any owner. */
export async function listCounters(db: Executor): Promise<StoredCounter[]> {
  return (await db.run<StoredCounter>(LIST_COUNTERS)).rows;
}
