// The counter part of a flush: applies the contributions of the recorded items to entries, stores them, and takes
// back contributions of earlier generations. It sees only outcomes that are written, in the transaction that writes
// them.
import type { Contribution } from '../../core/items/counter.ts';
import type { Database, Transaction } from '../../platform/database.ts';
import {
  changeEntries,
  copyContributions,
  type EntryChange,
  type RanAgain,
  type StoredContribution,
} from '../../store/commands/counters/change-entries.ts';
import type { StoredCounter } from '../../store/views/counters/find-counter.ts';
import { explainRange } from './counter-range-error.ts';
import { knownCounter } from './known-counters.ts';

/** Contributions of one item. */
export interface CountedItem {
  seq: number;
  counted: readonly Contribution[];
}

/** The stored counters that these items feed. Called before the transaction, because it may have to read them. */
export async function countersOf(
  db: Database,
  items: Iterable<{ counted?: readonly Contribution[] | undefined }>,
): Promise<Map<string, StoredCounter>> {
  const measures = new Map<string, Set<string>>();
  for (const { counted } of items) {
    for (const { counter, measured } of counted ?? []) {
      const named = measures.get(counter) ?? new Set();
      measures.set(counter, named);
      for (const measure of Object.keys(measured)) named.add(measure);
    }
  }
  const counters = new Map<string, StoredCounter>();
  for (const [name, named] of measures) {
    const counter = await knownCounter(db, name, [...named]);
    if (counter) counters.set(name, counter);
  }
  return counters;
}

export interface Counted {
  contributions: number;
  entries: number;
}

interface Gathered {
  change: EntryChange & { measured: number[] };
  contributions: { seq: number; replacedBefore: number; measured: number[] }[];
}

export async function countContributions(
  tx: Transaction,
  batch: { jobId: string; generation: number; phase: number },
  items: readonly CountedItem[],
  counters: ReadonlyMap<string, StoredCounter>,
  ranAgain: readonly RanAgain[],
): Promise<Counted> {
  const gathered = [...gather(items, counters).values()];
  if (gathered.length === 0 && ranAgain.length === 0) return { contributions: 0, entries: 0 };
  const changes = gathered.map(({ change }) => change);
  const { changed, entries } = await changeEntries(tx, batch, changes, ranAgain).catch(explainRange);
  const stored: StoredContribution[] = [];
  for (const [at, { change, contributions }] of gathered.entries()) {
    const { entryId, epoch } = changed[at]!;
    for (const { seq, replacedBefore, measured } of contributions)
      stored.push({ seq, entryId, epoch: epoch - change.replaced + replacedBefore, measured });
  }
  if (stored.length > 0) await copyContributions(tx, batch, stored);
  return { contributions: stored.length, entries };
}

/** Groups by entry, in the order of the items: a replacement also voids earlier contributions of this flush. */
function gather(
  items: readonly CountedItem[],
  counters: ReadonlyMap<string, StoredCounter>,
): Map<string, Gathered> {
  const byEntry = new Map<string, Gathered>();
  for (const { seq, counted } of [...items].sort((a, b) => a.seq - b.seq)) {
    for (const contribution of counted) {
      const { scope, entity, mode } = contribution;
      const counter = counters.get(contribution.counter);
      if (!counter) throw notRegistered(contribution.counter);
      const measured = counter.measures.map((measure) => contribution.measured[measure] ?? 0);
      const key = `${counter.counterId}\u0000${scope}\u0000${entity}`;
      let entry = byEntry.get(key);
      if (!entry) {
        const { counterId, shared } = counter;
        const none = measured.map(() => 0);
        entry = {
          change: { counterId, shared, scope, entity, replaced: 0, measured: none },
          contributions: [],
        };
        byEntry.set(key, entry);
      }
      const { change } = entry;
      if (mode === 'replace') {
        change.replaced += 1;
        change.measured = measured;
      } else change.measured = change.measured.map((number, at) => number + measured[at]!);
      entry.contributions.push({ seq, replacedBefore: change.replaced, measured });
    }
  }
  return byEntry;
}

/** A data error: the item fails, and its neighbours do not. */
function notRegistered(name: string): Error {
  const message = `counter ${name}, or one of its measures, is not registered in this database`;
  return Object.assign(new Error(message), { code: '22023' });
}
