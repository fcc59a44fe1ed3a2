// Runs the scenarios of all contestants, interleaved, and collects their measurements over all rounds.
import type { Entry } from './contestant.ts';
import { type Better, Rounds, type Spreads } from './rounds.ts';
import { type Measurement, measureFinishLag, measureIdle, runScenario } from './run-scenario.ts';
import type { Choice } from './choose.ts';
import type { Scenario } from './scenarios.ts';

export interface ContestantPlan {
  rounds: number;
  idleSeconds: number;
  lagJobs: number;
}

/** The spreads of each contestant, by its key. */
export async function runContestants(
  serverUrl: string,
  { entries, scenarios, withIdle }: Choice,
  plan: ContestantPlan,
  report: (text: string) => void,
): Promise<Map<string, Spreads>> {
  const rounds = new Map<string, Rounds>(entries.map(({ key }) => [key, new Rounds()]));
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const scenario of scenarios) {
      // Each round starts with a different contestant, so none always runs first or after the same neighbour.
      const turn = entries.map((_, i) => entries[(i + round) % entries.length]!);
      for (const entry of turn.filter(scenario.takesPart)) {
        const itemCount = Math.min(scenario.itemCount, entry.maxItems);
        const measured = await runScenario(serverUrl, entry, { ...scenario, itemCount });
        keep(rounds.get(entry.key)!, scenario, measured);
        report(
          `round ${round + 1}/${plan.rounds} ${scenario.key} ${entry.key}: ${Math.round(measured.itemsPerSecond)} items/s`,
        );
      }
    }
  }
  if (withIdle) await measureIdleWorkers(serverUrl, entries, plan, rounds);
  return new Map([...rounds].map(([key, each]) => [key, each.spreads()]));
}

function keep(rounds: Rounds, { key }: Scenario, measured: Measurement): void {
  const add = (name: string, value: number | null, better: Better = 'less'): void => {
    if (value !== null) rounds.add(name, value, better);
  };
  const { itemsPerSecond, enqueuedPerSecond, itemsPerCommit, pageMsP99, ...costs } = measured;
  add(key, itemsPerSecond, 'more');
  add(`${key}PageMsP99`, pageMsP99);
  if (key === 'drainLarge') {
    add('drainLargeWalBytesPerItem', costs.walBytesPerItem);
    add('drainLargeStoredBytesPerItem', costs.storedBytesPerItem);
  }
  if (key !== 'drain') return;
  add('enqueue', enqueuedPerSecond, 'more');
  add('itemsPerCommit', itemsPerCommit, 'more');
  for (const [name, value] of Object.entries(costs)) add(name, value);
}

async function measureIdleWorkers(
  serverUrl: string,
  entries: readonly Entry[],
  plan: ContestantPlan,
  rounds: ReadonlyMap<string, Rounds>,
): Promise<void> {
  const queues = entries.filter(({ isLimit }) => !isLimit);
  for (const { key, ...entry } of queues) {
    const lagMs = await measureFinishLag(serverUrl, { key, ...entry }, plan.lagJobs);
    if (lagMs !== null) rounds.get(key)!.add('finishLagMsP99', lagMs, 'less');
  }
  for (const [key, perSecond] of Object.entries(await measureIdle(serverUrl, queues, plan.idleSeconds)))
    rounds.get(key)!.add('idleQueriesPerSecond', perSecond, 'less');
}
