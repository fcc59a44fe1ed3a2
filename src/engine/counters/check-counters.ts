// The counter check: recounts counters in chunks while writers run, reports drift, and repairs it on request. Entries
// are compared with contributions, entities and scopes with entries, so a repair uses this order. Contributions whose
// entry is gone can only be reported, because the entry is no longer known.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { repairCounters } from '../../store/commands/counters/repair-counters.ts';
import { listCounters, type StoredCounter } from '../../store/views/counters/find-counter.ts';
import {
  COUNTER_LEVELS,
  type CounterLevel,
  type CounterRowKey,
  type Drift,
  findCounterDrift,
} from '../../store/views/counters/find-counter-drift.ts';
import {
  findLostContributions,
  type LostContributions,
} from '../../store/views/counters/find-lost-contributions.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

const CHUNK_ROWS = 2000;

export interface CounterDrift {
  level: CounterLevel;
  counter: string;
  ownerId: string;
  scope: string | null;
  entity: string | null;
  /** Only measures that differ. */
  measures: Record<string, { stored: number; recounted: number }>;
}

export interface CounterCheck {
  /** Number of rows compared. */
  checked: Record<CounterLevel, number>;
  drifted: CounterDrift[];
  /** Contributions whose entry is gone, by job. Not searched in a check of one counter. */
  lost: LostContributions[];
  /** Number of drifted rows beyond `maxListed`. */
  unlisted: number;
  repaired: number;
  /** True if every row was compared within the time limit. */
  complete: boolean;
}

export interface CheckCountersOptions {
  /** Checks only this counter. */
  counter?: string;
  repair?: boolean;
  budgetMs?: number;
  signal?: AbortSignal;
  chunkRows?: number;
  /** Maximum number of drifted rows to list in full. Default 1000. */
  maxListed?: number;
}

export async function checkCounters(
  context: Pick<EngineContext, 'db' | 'events' | 'by'>,
  options: CheckCountersOptions = {},
): Promise<CounterCheck> {
  const { db, events } = context;
  const { counter, repair = false, budgetMs = Number.POSITIVE_INFINITY, signal } = options;
  const { chunkRows = CHUNK_ROWS, maxListed = 1000 } = options;
  const counters = new Map((await listCounters(db)).map((each) => [each.counterId, each]));
  const only = [...counters.values()].find(({ name }) => name === counter);
  if (counter !== undefined && !only)
    throw new RowmillError('COUNTER_NOT_FOUND', `there is no counter ${counter}`);
  const check: CounterCheck = {
    checked: { entries: 0, entities: 0, scopes: 0 },
    drifted: [],
    lost: [],
    unlisted: 0,
    repaired: 0,
    complete: true,
  };
  const startedMs = monotonicMs();
  const first: CounterRowKey = { counterId: only?.counterId ?? 0, ownerId: '', scope: '', entity: '' };
  const chunk = { lastCounterId: only?.counterId ?? 2_147_483_647, rows: chunkRows };
  for (const level of COUNTER_LEVELS) {
    let after: CounterRowKey | null = first;
    while (after) {
      if (signal?.aborted || monotonicMs() - startedMs > budgetMs) return { ...check, complete: false };
      const from: CounterRowKey = after;
      const { drifted, last, looked } = await retryPassing(() => findCounterDrift(db, level, from, chunk));
      check.checked[level] += looked;
      for (const drift of drifted) {
        if (check.drifted.length < maxListed) check.drifted.push(describeDrift(level, drift, counters));
        else check.unlisted += 1;
      }
      if (drifted.length > 0) events.emit('counters.drifted', { level, rows: drifted.length });
      if (repair && drifted.length > 0)
        check.repaired += await retryPassing(() => repairDrift(context, level, drifted));
      after = last;
    }
  }
  let lastEntryId: number | null = only ? null : 0;
  while (lastEntryId !== null) {
    if (signal?.aborted || monotonicMs() - startedMs > budgetMs) return { ...check, complete: false };
    const from: number = lastEntryId;
    const { lost, last } = await retryPassing(() => findLostContributions(db, from, chunkRows));
    for (const each of lost) addLost(check.lost, each);
    lastEntryId = last;
  }
  return check;
}

function addLost(all: LostContributions[], { jobId, contributions, items }: LostContributions): void {
  const known = all.find((each) => each.jobId === jobId);
  if (known) {
    known.contributions += contributions;
    known.items += items;
  } else all.push({ jobId, contributions, items });
}

function repairDrift(
  context: Pick<EngineContext, 'db' | 'by'>,
  level: CounterLevel,
  drifted: readonly Drift[],
): Promise<number> {
  return context.db.transaction(async (tx) => {
    const rows = await repairCounters(tx, level, drifted);
    const detail = { level, rows };
    if (rows > 0) await recordAudit(tx, context, { action: 'counters.repair', subject: 'counters', detail });
    return rows;
  });
}

function describeDrift(
  level: CounterLevel,
  { counterId, ownerId, scope, entity, stored, recounted }: Drift,
  counters: ReadonlyMap<number, StoredCounter>,
): CounterDrift {
  const { name = String(counterId), measures = [] } = counters.get(counterId) ?? {};
  return {
    level,
    counter: name,
    ownerId,
    scope,
    entity,
    measures: differingMeasures(measures, stored, recounted),
  };
}

export function differingMeasures(
  names: readonly string[],
  stored: readonly number[],
  recounted: readonly number[],
): CounterDrift['measures'] {
  const measures: CounterDrift['measures'] = {};
  for (let at = 0; at < Math.max(stored.length, recounted.length); at += 1) {
    const pair = { stored: stored[at] ?? 0, recounted: recounted[at] ?? 0 };
    if (pair.stored !== pair.recounted) measures[names[at] ?? `measure ${at + 1}`] = pair;
  }
  return measures;
}
