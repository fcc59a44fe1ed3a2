// Tells streams what their owners' counters add up to, when it changed. One look serves all streams.
import type { CounterEvent } from '../../contract/events.ts';
import { EVERYBODY } from '../../core/items/counter.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import {
  type CounterOwnerTotal,
  counterOwnerTotals,
} from '../../store/views/counters/counter-owner-totals.ts';
import type { EventStream } from './event-stream.ts';
import { nameMeasures } from '../jobs/name-measures.ts';

/** Times that a look took: with very many scopes it is seldom, instead of all that the database does. */
const REST_FACTOR = 20;

export class CounterWatch {
  #restsUntilMs = 0;

  /** Streams of jobs are told nothing. */
  async look(db: Executor, live: Iterable<EventStream>): Promise<void> {
    const beganMs = monotonicMs();
    if (beganMs < this.#restsUntilMs) return;
    // Who joins while the database is asked is told by the next look: this one may lack their owners.
    const streams = [...live].filter(({ scope }) => 'owners' in scope);
    if (streams.length === 0) return;
    const listed = streams.map(ownersOf);
    const owners = listed.some((each) => each === null)
      ? null
      : [...new Set(listed.flatMap((each) => each!))];
    const totals = await counterOwnerTotals(db, owners);
    const endedMs = monotonicMs();
    this.#restsUntilMs = endedMs + (endedMs - beganMs) * REST_FACTOR;
    for (const stream of streams)
      for (const event of eventsFor(ownersOf(stream), totals)) stream.tellCounter(event);
  }
}

function ownersOf({ scope }: EventStream): readonly string[] | null {
  if (!('owners' in scope)) return [];
  // Changes of shared counters go to every owner.
  return scope.owners && [...scope.owners, EVERYBODY];
}

function eventsFor(owners: readonly string[] | null, totals: readonly CounterOwnerTotal[]): CounterEvent[] {
  const sums = new Map<string, CounterOwnerTotal>();
  for (const each of totals) {
    if (owners !== null && !owners.includes(each.ownerId)) continue;
    const known = sums.get(each.name);
    sums.set(each.name, known ? plus(known, each) : each);
  }
  return [...sums.values()].map(({ name, measures, measured, updatedAt }) => ({
    counter: name,
    total: nameMeasures(measures, measured),
    updatedAt: updatedAt.toISOString(),
  }));
}

function plus(a: CounterOwnerTotal, b: CounterOwnerTotal): CounterOwnerTotal {
  return {
    ...a,
    measured: a.measures.map((_, at) => (a.measured[at] ?? 0) + (b.measured[at] ?? 0)),
    updatedAt: new Date(Math.max(a.updatedAt.getTime(), b.updatedAt.getTime())),
  };
}
