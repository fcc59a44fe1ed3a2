// Contestants of the simulation and their settings. "Set right" means tuned for the healthy service.
import { seededSequence } from '../../examples/seeded-sequence.ts';
import type { ResourceLimits } from '../../src/core/limits/resource-limits.ts';
import { NO_LIMITS } from '../../src/core/limits/resource-limits.ts';
import { EventQueue } from './event-queue.ts';
import { startFixedWorker } from './fixed-workers.ts';
import { type Measured, measureCalls } from './measure-calls.ts';
import { runPQueue } from './p-queue-worker.ts';
import { Provider } from './provider.ts';
import type { Scenario } from './scenarios.ts';
import { SharedLimitWorker, SharedRow } from './shared-limit-workers.ts';

export interface Contestant {
  name: string;
  run(scenario: Scenario, seed: number): Measured | Promise<Measured>;
}

/** Concurrent calls needed to use the capacity. */
export function neededConcurrency({ capacity, latencyMs }: Scenario): number {
  return Math.max(1, Math.ceil((capacity * latencyMs) / 1000));
}

export const DECLARATIONS: Record<string, (scenario: Scenario) => ResourceLimits> = {
  'rate declared': (scenario) => ({
    ...NO_LIMITS,
    ratePerSecond: scenario.capacity,
    concurrency: neededConcurrency(scenario) * 10,
  }),
  'only concurrency, 10 x too high': (scenario) => ({
    ...NO_LIMITS,
    concurrency: neededConcurrency(scenario) * 10,
  }),
  'nothing declared': () => NO_LIMITS,
};

export function runOurs(scenario: Scenario, limits: ResourceLimits, workers: number, seed: number): Measured {
  const { events, provider, random } = prepare(scenario, seed);
  const row = new SharedRow(limits);
  for (let worker = 0; worker < workers; worker += 1)
    new SharedLimitWorker(`worker-${worker}`, events, provider, row, random);
  events.runUntil(scenario.lengthMs);
  return measureCalls(scenario, provider.log);
}

export const contestants: readonly Contestant[] = [
  ...Object.entries(DECLARATIONS).map(([name, limits]) => ({
    name: `rowmill, ${name}`,
    run: (scenario: Scenario, seed: number) => runOurs(scenario, limits(scenario), 4, seed),
  })),
  { name: 'fixed, set right', run: (scenario, seed) => runFixed(scenario, 1, seed) },
  { name: 'fixed, twice too high', run: (scenario, seed) => runFixed(scenario, 2, seed) },
  {
    name: 'p-queue, set right',
    run: async (scenario, seed) => {
      const { events, provider, random } = prepare(scenario, seed);
      const settings = { concurrency: neededConcurrency(scenario) * 4, perSecond: scenario.capacity };
      await runPQueue(events, provider, settings, random, scenario.lengthMs);
      return measureCalls(scenario, provider.log);
    },
  },
];

function runFixed(scenario: Scenario, times: number, seed: number): Measured {
  const { events, provider, random } = prepare(scenario, seed);
  startFixedWorker(events, provider, neededConcurrency(scenario) * times, random);
  events.runUntil(scenario.lengthMs);
  return measureCalls(scenario, provider.log);
}

function prepare(scenario: Scenario, seed: number) {
  const events = new EventQueue();
  const random = seededSequence(seed);
  return { events, provider: new Provider(events, scenario, random), random };
}
