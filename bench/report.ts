// The results as text and as JSON: best, median and worst of all rounds.
import { entries } from './contestant.ts';
import { CONTESTANT_LABELS } from './labels.ts';
import { pick, type Spread, type Spreads } from './rounds.ts';
import type { Scenario } from './scenarios.ts';
import { formatTable } from './table.ts';

/** Measured once per run, not in rounds. */
const MEASURED_ONCE: readonly string[] = ['finishLagMsP99', 'idleQueriesPerSecond'];

export function formatSpreads(labels: Record<string, string>, spreads: Spreads): string {
  const rows = Object.entries(labels).map(([key, label]) => ({ label, values: { ...spreads[key] } }));
  return formatTable(['best', 'median', 'worst'], rows);
}

/** One row with the best value of each key; keys measured in rounds also get the median and the worst. */
export function formatContestants(
  results: ReadonlyMap<string, Spreads>,
  scenarios: readonly Scenario[],
  rounds: number,
): string {
  const labels = {
    ...Object.fromEntries(scenarios.map(({ key, label }) => [key, label])),
    ...CONTESTANT_LABELS,
  };
  const isMeasured = (key: string): boolean => [...results.values()].some((spreads) => key in spreads);
  const values = (key: string, which: keyof Spread): Record<string, number | null> =>
    Object.fromEntries([...results].map(([name, spreads]) => [name, spreads[key]?.[which] ?? null]));
  const rows = Object.entries(labels)
    .filter(([key]) => isMeasured(key))
    .flatMap(([key, label]) => [
      { label, values: values(key, 'best') },
      ...(['median', 'worst'] as const)
        .filter(() => rounds > 1 && !MEASURED_ONCE.includes(key))
        .map((which) => ({ label: `  ${which}`, values: values(key, which) })),
    ]);
  return formatTable([...results.keys()], rows);
}

/**
 * Medians by key: Rowmill's, and `drain` of all contestants. `spread` has best, median and worst of the same keys, `all`
 * those of all contestants.
 */
export function toJson(
  results: ReadonlyMap<string, Spreads>,
  parts: Spreads,
): Record<string, unknown> & { spread: object; all: object } {
  const all = Object.fromEntries(results);
  const drains = Object.fromEntries(entries.map(({ key }) => [key, all[key]?.drain ?? null]));
  const own = { ...all.rowmill, ...parts };
  return {
    ...pick(own, 'median'),
    drain: Object.fromEntries(Object.entries(drains).map(([key, spread]) => [key, spread?.median ?? null])),
    spread: { ...own, drain: drains },
    all,
  };
}
