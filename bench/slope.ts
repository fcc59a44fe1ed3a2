// Separates the fixed cost of a drain from the cost of an item: drains of several sizes, and the line t = a + b n
// through their times, for Rowmill and for the bare loop.
import { type Entry, entries } from './contestant.ts';
import { Rounds, type Spreads } from './rounds.ts';
import { runScenario } from './run-scenario.ts';
import { planScenarios } from './scenarios.ts';

export interface SlopePlan {
  rounds: number;
  itemCounts: readonly number[];
}

interface Point {
  items: number;
  ms: number;
}

const NO_ITEMS = { drain: 0, start: 0, others: 0, large: 0, long: 0, history: 0 };
/** The beginning of the keys of each contestant. */
const PREFIXES: Partial<Record<Entry['key'], string>> = { rowmill: 'slope', bareLoop: 'slopeBareLoop' };

export async function measureSlope(
  serverUrl: string,
  plan: SlopePlan,
  report: (text: string) => void,
): Promise<Spreads> {
  const rounds = new Rounds();
  const drain = planScenarios({ ...NO_ITEMS, allPeers: false })[0]!;
  for (let round = 0; round < plan.rounds; round += 1) {
    const points = new Map<string, Point[]>();
    for (const itemCount of plan.itemCounts) {
      for (const entry of entries) {
        const prefix = PREFIXES[entry.key];
        if (prefix === undefined) continue;
        const { itemsPerSecond } = await runScenario(serverUrl, entry, { ...drain, itemCount });
        const ms = (itemCount / itemsPerSecond) * 1000;
        points.set(prefix, [...(points.get(prefix) ?? []), { items: itemCount, ms }]);
        report(
          `slope ${entry.key} ${itemCount}: ${Math.round(ms)} ms, ${Math.round(itemsPerSecond)} items/s`,
        );
      }
    }
    for (const [prefix, each] of points) {
      const { startMs, perItemMs } = fitLine(each);
      rounds.add(`${prefix}StartMs`, startMs, 'less');
      rounds.add(`${prefix}PerItemUs`, perItemMs * 1000, 'less');
    }
  }
  return rounds.spreads();
}

/** Least squares of relative errors: otherwise the largest drain alone would decide about the start. */
function fitLine(points: readonly Point[]): { startMs: number; perItemMs: number } {
  const sum = (of: (point: Point, weight: number) => number): number =>
    points.reduce((total, point) => total + of(point, 1 / point.ms ** 2), 0);
  const weights = sum((_, weight) => weight);
  const meanItems = sum(({ items }, weight) => weight * items) / weights;
  const meanMs = sum(({ ms }, weight) => weight * ms) / weights;
  const perItemMs =
    sum(({ items, ms }, weight) => weight * (items - meanItems) * (ms - meanMs)) /
    sum(({ items }, weight) => weight * (items - meanItems) ** 2);
  return { startMs: meanMs - perItemMs * meanItems, perItemMs };
}
