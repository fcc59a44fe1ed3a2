// The counters of a database. They are registered when a worker starts and cached, because the measures of a flush
// are stored in the order that the database has.
import { type Counter, distinctCounters } from '../../core/items/counter.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Database } from '../../platform/database.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { registerCounters } from '../../store/commands/counters/register-counters.ts';
import { listCounters, type StoredCounter } from '../../store/views/counters/find-counter.ts';

/** The cache never becomes wrong, because measures are only appended. */
const known = new WeakMap<Database, Map<string, StoredCounter>>();

/** Registers counters in the database; refuses definitions that contradict the stored ones. */
export async function registerDefinitions(db: Database, definitions: Iterable<Counter>): Promise<void> {
  const counters = distinctCounters(definitions);
  if (counters.length === 0) return;
  const registered = await retryPassing(() => registerCounters(db, counters)).catch((error: unknown) => {
    if ((error as { code?: string }).code !== '23514') throw error;
    throw new RowmillError(
      'COUNTER_INVALID',
      'a counter would have more than 16 measures, including those already stored',
      {
        hint: 'Measures that were removed from a definition still count. Use another counter.',
        cause: error,
      },
    );
  });
  const stored = await loadCounters(db);
  for (const counter of counters) {
    const { name } = counter;
    if (registered.has(name)) continue;
    throw new RowmillError(
      'COUNTER_INVALID',
      `counter ${name} counts ${wordsOf(counter)} here, and ${wordsOf(stored.get(name))} in the database`,
      {
        hint: 'Use a different name for a different counter, or the scope and entity it was first defined with.',
      },
    );
  }
}

function wordsOf(counter: Pick<Counter, 'scope' | 'entity' | 'shared'> | undefined): string {
  const words = `per ${counter?.scope} and ${counter?.entity}`;
  return counter?.shared ? `${words} for all owners` : words;
}

/** The stored counter, with at least these measures; undefined if it is not registered. */
export async function knownCounter(
  db: Database,
  name: string,
  measures: readonly string[],
): Promise<StoredCounter | undefined> {
  const has = (counter?: StoredCounter): boolean =>
    counter !== undefined && measures.every((measure) => counter.measures.includes(measure));
  const found = known.get(db)?.get(name);
  if (has(found)) return found;
  const loaded = (await loadCounters(db)).get(name);
  return has(loaded) ? loaded : undefined;
}

async function loadCounters(db: Database): Promise<Map<string, StoredCounter>> {
  const counters = new Map((await listCounters(db)).map((counter) => [counter.name, counter]));
  known.set(db, counters);
  return counters;
}
