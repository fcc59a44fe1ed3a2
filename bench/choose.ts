// Decides what a run measures, from --only: names of contestants, of scenarios and of the parts without contestants.
import { type Entry, entries } from './contestant.ts';
import type { Scenario } from './scenarios.ts';

/** Parts without contestants. The slope takes minutes, so it only runs when named. */
const PARTS = ['simulation', 'files', 'pipelines', 'limits', 'counters', 'api', 'slope'] as const;
type Part = (typeof PARTS)[number];

/** Scenarios of a quick run. The history takes minutes to fill, so it only runs when named. */
const QUICK_SCENARIOS: readonly string[] = ['drain', 'drainSmallClaims', 'twoWorkers', 'drainLarge'];

export interface Choice {
  parts: ReadonlySet<Part>;
  entries: readonly Entry[];
  scenarios: readonly Scenario[];
  /** Also measure idle workers and the finish lag. */
  withIdle: boolean;
}

export function choose(only: string | undefined, isQuick: boolean, scenarios: readonly Scenario[]): Choice {
  const usual = scenarios.filter(({ key }) => (isQuick ? QUICK_SCENARIOS.includes(key) : key !== 'history'));
  if (only === undefined) {
    const parts = new Set(PARTS.filter((part) => part !== 'slope'));
    return { parts, entries, scenarios: usual, withIdle: true };
  }
  const names = only.split(',');
  const known = [...entries.map(({ key }) => key), ...scenarios.map(({ key }) => key), ...PARTS];
  for (const name of names)
    if (!(known as string[]).includes(name))
      throw new Error(`expected --only to name ${known.join(', ')}; got ${name}`);
  const namedEntries = entries.filter(({ key }) => names.includes(key));
  const namesScenario = scenarios.some(({ key }) => names.includes(key));
  return {
    parts: new Set(PARTS.filter((part) => names.includes(part))),
    entries: namedEntries.length === 0 && namesScenario ? entries : namedEntries,
    // The plain drain is what the others are compared with.
    scenarios: namesScenario ? scenarios.filter(({ key }) => key === 'drain' || names.includes(key)) : usual,
    withIdle: namedEntries.length > 0 && !namesScenario,
  };
}
