import { EVERYBODY } from '../../../core/items/counter.ts';
import type { Statement, Transaction } from '../../../platform/database.ts';
import { markTakenBack, SUM_MARKED } from '../../marked-contributions.ts';
import { addMeasures, subtractMeasures } from '../../measure-sums.ts';
import { ROLL_UP_CHANGES } from './roll-up-changes.ts';

// Changes that the items of one flush make to counter entries of the job's owner, or of all owners: one row per
// entry. An entry that was only added to gets the sum. An entry that was replaced gets the sum since its last
// replacement, and its epoch rises by the number of replacements. The change is computed here, under the row lock,
// and never by the worker.
//
// Index: counter_entries_pkey, counter_entities_pkey. Rows are inserted and locked in key order, so concurrent
// flushes wait for each other and do not deadlock.
//
// On conflict, a proposed row carries only columns of the table, so its epoch encodes the kind of change. 0:
// something was added. n > 0: the entry was replaced n times. -1 - n: contributions of epoch n are taken away. In the
// last case `change` is the added amount minus the amount taken away. An entry that has a different epoch by now has
// already lost the old amount and only gets the added one.
const takenFrom = (epoch: string): string => `-1 - ${epoch}`;
const IS_REPLACED = 'excluded.epoch > 0';
const IS_TAKEN_FROM_PAST = `excluded.epoch < 0 and e.epoch <> ${takenFrom('excluded.epoch')}`;
const CHANGED = `case when ${IS_TAKEN_FROM_PAST} then excluded.measured else excluded.change end`;
const changing = (proposed: string): string => `
    changed as (
      insert into counter_entries as e (counter_id, owner_id, scope, entity, epoch, measured, change)
      ${proposed}
      on conflict (counter_id, owner_id, scope, entity) do update
      set epoch = e.epoch + greatest(0, excluded.epoch),
          measured = case when ${IS_REPLACED} then excluded.measured else ${addMeasures('e.measured', CHANGED)} end,
          change = case when ${IS_REPLACED} then ${subtractMeasures('excluded.measured', 'e.measured')} else ${CHANGED} end,
          settled = case when ${IS_REPLACED} then '{}' else e.settled end,
          updated_at = now()
      returning e.entry_id, e.counter_id, e.owner_id, e.scope, e.entity, e.epoch, e.change
    ),
    ${ROLL_UP_CHANGES}
    select entry_id, epoch, counter_id, scope, entity from changed`;

const wanted = (shared: string): string => `
      from unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::text[], ${shared}::boolean[])
        as w(counter_id, scope, entity, replaced, measured, shared)
      cross join (select owner_id from jobs where job_id = $1) j`;
/** All entries of one counter have the same owner, so the key order is that of (counter, scope, entity). */
const OWNER = `case when w.shared then '${EVERYBODY}' else j.owner_id end`;

const CHANGE_ENTRIES: Statement = {
  name: 'change-counter-entries',
  text: `
    with ${changing(`
      select w.counter_id, ${OWNER}, w.scope, w.entity, w.replaced, w.measured::bigint[], w.measured::bigint[]
      ${wanted('$7')}
      order by w.counter_id, w.scope collate "C", w.entity collate "C"`)}`,
};

// The same for phase $8 of a later generation ($7): also takes away what the items $9 contributed before in the
// phases up to $10, in the same pass. Index: also counter_contributions_pkey, counter_entries_entry_id_key.
const CHANGE_AND_TAKE_BACK: Statement = {
  name: 'change-and-take-back',
  text: `
    with ${markTakenBack(`(
        select $1::uuid as job_id, w.seq, $7::int as generation, $8::smallint as phase, w.last_phase
        from unnest($9::bigint[], $10::smallint[]) as w(seq, last_phase)
      ) w`)},
    ${SUM_MARKED},
    wanted as (
      select w.counter_id, ${OWNER} collate "C" as owner_id, w.scope collate "C" as scope, w.entity collate "C" as entity,
        w.replaced, w.measured::bigint[] as added, null::bigint as epoch, null::bigint[] as taken
      ${wanted('$11')}
      union all
      select e.counter_id, e.owner_id, e.scope, e.entity, 0, null, s.epoch, s.total
      from summed s join counter_entries e on e.entry_id = s.entry_id
    ),
    merged as (
      select counter_id, owner_id, scope, entity, max(replaced) as replaced, coalesce(max(added), '{}') as added,
        max(epoch) as epoch, max(taken) as taken
      from wanted
      group by counter_id, owner_id, scope, entity
    ),
    ${changing(`
      select m.counter_id, m.owner_id, m.scope, m.entity,
        case when m.replaced > 0 or m.epoch is null then m.replaced else ${takenFrom('m.epoch')} end,
        m.added, ${subtractMeasures('m.added', 'm.taken')}
      from merged m
      order by m.counter_id, m.owner_id, m.scope, m.entity`)}`,
};

const COPY_CONTRIBUTIONS: Statement = {
  name: 'copy-counter-contributions',
  text: 'copy counter_contributions (job_id, seq, generation, phase, entry_id, epoch, measured) from stdin',
};

interface FlushKey {
  jobId: string;
  generation: number;
  phase: number;
}

export interface EntryChange {
  counterId: number;
  shared: boolean;
  scope: string;
  entity: string;
  /** Number of replacements. */
  replaced: number;
  /** Sum since the last replacement. */
  measured: readonly number[];
}

export interface ChangedEntry {
  entryId: number;
  /** Epoch after the change. */
  epoch: number;
}

/** An item that ran again in phases in which it had contributed before. */
export interface RanAgain {
  seq: number;
  /** Last of these phases; the first is the phase of the flush. */
  lastPhase: number;
}

export interface ChangedEntries {
  /** In the order of the changes, each of which names a different entry. */
  changed: ChangedEntry[];
  /** Number of changed entries, including those from which something was only taken back. */
  entries: number;
}

export async function changeEntries(
  tx: Transaction,
  { jobId, generation, phase }: FlushKey,
  changes: readonly EntryChange[],
  ranAgain: readonly RanAgain[] = [],
): Promise<ChangedEntries> {
  const values: unknown[] = [
    jobId,
    changes.map(({ counterId }) => counterId),
    changes.map(({ scope }) => scope),
    changes.map(({ entity }) => entity),
    changes.map(({ replaced }) => replaced),
    changes.map(({ measured }) => arrayText(measured)),
  ];
  const takenBack = [
    generation,
    phase,
    ranAgain.map(({ seq }) => seq),
    ranAgain.map(({ lastPhase }) => lastPhase),
  ];
  const shared = changes.map((change) => change.shared);
  const rows =
    ranAgain.length === 0
      ? await tx.runArrays(CHANGE_ENTRIES, [...values, shared])
      : await tx.runArrays(CHANGE_AND_TAKE_BACK, [...values, ...takenBack, shared]);
  const entries = new Map(
    rows.map(([entryId, epoch, ...key]) => [
      key.join('\u0000'),
      { entryId: entryId as number, epoch: epoch as number },
    ]),
  );
  const changed = changes.map(
    ({ counterId, scope, entity }) => entries.get([counterId, scope, entity].join('\u0000'))!,
  );
  return { changed, entries: rows.length };
}

export interface StoredContribution extends ChangedEntry {
  seq: number;
  measured: readonly number[];
}

export async function copyContributions(
  tx: Transaction,
  { jobId, generation, phase }: FlushKey,
  contributions: readonly StoredContribution[],
): Promise<void> {
  let rows = '';
  for (const { seq, entryId, epoch, measured } of contributions)
    rows += `${jobId}\t${seq}\t${generation}\t${phase}\t${entryId}\t${epoch}\t${arrayText(measured)}\n`;
  await tx.copy(COPY_CONTRIBUTIONS, rows);
}

function arrayText(numbers: readonly number[]): string {
  return `{${numbers.join()}}`;
}
