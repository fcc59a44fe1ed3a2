// Recounts counters for tests: reads all their rows and adds them up in this process, sharing no SQL with the store.
// Returns a sentence for each violation.
import type { TestDatabase } from './test-database.ts';

type Sums = Map<string, bigint[]>;

interface EntryRow {
  entry_id: string;
  counter_id: number;
  owner_id: string;
  scope: string;
  entity: string;
  epoch: string;
  measured: string[];
  settled: string[];
}

function add(sums: Sums, key: string, measured: readonly string[]): void {
  const known = sums.get(key) ?? [];
  sums.set(key, known);
  for (const [at, number] of measured.entries()) known[at] = (known[at] ?? 0n) + BigInt(number);
}

/** Without trailing zeros: a missing measure is 0. */
function plain(measured: readonly bigint[] = []): string {
  const numbers = [...measured];
  while (numbers.at(-1) === 0n) numbers.pop();
  return numbers.join();
}

function compare(what: string, stored: Sums, recount: Sums): string[] {
  return [...new Set([...stored.keys(), ...recount.keys()])]
    .filter((key) => plain(stored.get(key)) !== plain(recount.get(key)))
    .map((key) => `${what} ${key}: stored ${plain(stored.get(key))}, recounted ${plain(recount.get(key))}`);
}

export async function recountCounters(database: Pick<TestDatabase, 'query'>): Promise<string[]> {
  const entries = await database.query<EntryRow>('select * from counter_entries');
  const contributions = await database.query<{ entry_id: string; epoch: string; measured: string[] }>(
    'select entry_id, epoch, measured from counter_contributions where taken_back_by is null',
  );
  const epochs = new Map(entries.map((entry) => [entry.entry_id, entry.epoch]));
  const [stored, recount, entities, scopes] = [new Map(), new Map(), new Map(), new Map()] as Sums[];
  for (const { entry_id: id, epoch, measured } of contributions)
    if (epochs.get(id) === epoch) add(recount!, id, measured);
  for (const entry of entries) {
    add(stored!, entry.entry_id, entry.measured);
    add(recount!, entry.entry_id, entry.settled);
    add(entities!, `${entry.counter_id} ${entry.owner_id} ${entry.entity}`, entry.measured);
    add(scopes!, `${entry.counter_id} ${entry.owner_id} ${entry.scope}`, entry.measured);
  }
  const storedEntities: Sums = new Map();
  for (const row of await database.query<EntryRow>('select * from counter_entities'))
    add(storedEntities, `${row.counter_id} ${row.owner_id} ${row.entity}`, row.measured);
  const storedScopes: Sums = new Map();
  for (const row of await database.query<EntryRow>(
    'select counter_id, owner_id, scope, measured from counter_scopes union all select counter_id, owner_id, scope, change from counter_scope_deltas',
  ))
    add(storedScopes, `${row.counter_id} ${row.owner_id} ${row.scope}`, row.measured);
  const negative = [...stored!, ...storedEntities].filter(([, numbers]) =>
    numbers.some((number) => number < 0n),
  );
  return [
    ...compare('entry', stored!, recount!),
    ...compare('entity', storedEntities, entities!),
    ...compare('scope', storedScopes, scopes!),
    ...negative.map(([key]) => `${key} is negative`),
  ];
}

/** The numbers of every entry of a counter, by "scope/entity"; of one owner, or of all together. */
export async function countedEntries(
  database: Pick<TestDatabase, 'query'>,
  counter: string,
): Promise<Record<string, string>> {
  const rows = await database.query<{ scope: string; entity: string; measured: string[] }>(
    `select scope, entity, measured from counter_entries where counter_id = (select counter_id from counters where name = $1)
     order by scope, entity, owner_id`,
    [counter],
  );
  return Object.fromEntries(
    rows.map(({ scope, entity, measured }) => [`${scope}/${entity}`, measured.join()]),
  );
}
