import type { Statement, Transaction } from '../../platform/database.ts';
import { addMeasures, subtractMeasures } from '../measure-sums.ts';
import { ROLL_UP_CHANGES } from './roll-up-changes.ts';

// What the items of one flush do to the entries of a job's owner: one row per entry. An entry to which something was
// only added gets the sum; one that was replaced gets what came from the last replacement on, and its epoch rises by the
// number of replacements. What changed is computed here, under the lock of the row, and never by the worker.
//
// Index: counter_entries_pkey, counter_entities_pkey. Rows are inserted and locked in the order of their keys: flushes
// that meet wait, they do not deadlock.
const CHANGE_ENTRIES: Statement = {
  name: 'change-counter-entries',
  text: `
    with changed as (
      insert into counter_entries as e (counter_id, owner_id, scope, entity, epoch, measured, change)
      select w.counter_id, j.owner_id, w.scope, w.entity, w.replaced, w.measured::bigint[], w.measured::bigint[]
      from unnest($2::int[], $3::text[], $4::text[], $5::int[], $6::text[]) as w(counter_id, scope, entity, replaced, measured)
      cross join (select owner_id from jobs where job_id = $1) j
      order by w.counter_id, w.scope collate "C", w.entity collate "C"
      on conflict (counter_id, owner_id, scope, entity) do update
      set epoch = e.epoch + excluded.epoch,
          measured = case when excluded.epoch = 0 then ${addMeasures('e.measured', 'excluded.measured')} else excluded.measured end,
          change = case when excluded.epoch = 0 then excluded.measured else ${subtractMeasures('excluded.measured', 'e.measured')} end,
          settled = case when excluded.epoch = 0 then e.settled else '{}' end,
          updated_at = now()
      returning e.entry_id, e.counter_id, e.owner_id, e.scope, e.entity, e.epoch, e.change
    ),
    ${ROLL_UP_CHANGES}
    select entry_id, epoch, counter_id, scope, entity from changed`,
};

const COPY_CONTRIBUTIONS: Statement = {
  name: 'copy-counter-contributions',
  text: 'copy counter_contributions (job_id, seq, generation, phase, entry_id, epoch, measured) from stdin',
};

export interface EntryChange {
  counterId: number;
  scope: string;
  entity: string;
  /** How often it was replaced. */
  replaced: number;
  /** Since the last replacement. */
  measured: readonly number[];
}

export interface ChangedEntry {
  entryId: number;
  /** After the change. */
  epoch: number;
}

/** In the order of `changes`, of which each names another entry. */
export async function changeEntries(
  tx: Transaction,
  jobId: string,
  changes: readonly EntryChange[],
): Promise<ChangedEntry[]> {
  const rows = await tx.runArrays(CHANGE_ENTRIES, [
    jobId,
    changes.map(({ counterId }) => counterId),
    changes.map(({ scope }) => scope),
    changes.map(({ entity }) => entity),
    changes.map(({ replaced }) => replaced),
    changes.map(({ measured }) => arrayText(measured)),
  ]);
  const entries = new Map(
    rows.map(([entryId, epoch, ...key]) => [
      key.join('\u0000'),
      { entryId: entryId as number, epoch: epoch as number },
    ]),
  );
  return changes.map(
    ({ counterId, scope, entity }) => entries.get([counterId, scope, entity].join('\u0000'))!,
  );
}

export interface StoredContribution extends ChangedEntry {
  seq: number;
  measured: readonly number[];
}

export async function copyContributions(
  tx: Transaction,
  { jobId, generation, phase }: { jobId: string; generation: number; phase: number },
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
