// Sends streams the counter totals of their owners when these change. One query serves all streams.
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

/**
 * Multiple of the query's duration to wait before the next query, so that very many scopes do not occupy the database.
 */
const REST_FACTOR = 20;

export class CounterWatch {
  #restsUntilMs = 0;

  /** Streams of a single job get no counters. */
  async look(db: Executor, live: Iterable<EventStream>): Promise<void> {
    const beganMs = monotonicMs();
    if (beganMs < this.#restsUntilMs) return;
    // Streams that join during the query get their counters from the next one, because this one may lack their owners.
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
  // Every owner gets the changes of shared counters.
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
