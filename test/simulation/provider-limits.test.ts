// The guarantees of shared limits, checked on the simulated service of the bench in virtual time.
import { describe, expect, it } from 'vitest';
import { contestants, DECLARATIONS, runOurs } from '../../bench/provider-simulation/contestants.ts';
import { scenariosFor } from '../../bench/provider-simulation/scenarios.ts';
import { NO_LIMITS } from '../../src/core/limits/resource-limits.ts';

const SEED = 301;
const WORKERS = 4;
const scenarios = scenariosFor(50, 400);

describe.each(scenarios)('a service: $name', (scenario) => {
  it.each(Object.entries(DECLARATIONS))('is used well with %s', (_, declare) => {
    const limits = declare(scenario);
    const measured = runOurs(scenario, limits, WORKERS, SEED);
    // If each probe of an unknown limit costs a pause and the capacity changes, the target of 0.85 is missed:
    // docs/limits.md.
    const isMissed = scenario.drop && scenario.retryAfterMs !== null && limits.ratePerSecond === null;
    expect(measured.utilisation).toBeGreaterThanOrEqual(isMissed ? 0.8 : 0.85);
    expect(measured.throttled).toBeLessThan(0.05);
    expect(measured.backAfterS ?? 0).toBeLessThanOrEqual(30);
    // A missed start may be used until the next one is due, so each worker can be late by one.
    if (limits.ratePerSecond !== null)
      expect(measured.maxPerSecond).toBeLessThanOrEqual(limits.ratePerSecond + 1 + WORKERS);
    if (limits.concurrency !== null) expect(measured.maxConcurrency).toBeLessThanOrEqual(limits.concurrency);
  });
});

describe('the declared limits of a healthy service', () => {
  const healthy = scenarios[0]!;

  it.each([1, 4, 16])('are used to at least 90% and never exceeded by %i workers', (workers) => {
    const byRate = runOurs(healthy, { ...NO_LIMITS, ratePerSecond: 40 }, workers, SEED);
    expect((byRate.utilisation * 50) / 40).toBeGreaterThanOrEqual(0.9);
    expect(byRate.maxPerSecond).toBeLessThanOrEqual(40 + 1 + workers);
    const byConcurrency = runOurs(healthy, { ...NO_LIMITS, concurrency: 16 }, workers, SEED);
    // 16 concurrent calls of 400 ms are 40 per second.
    expect((byConcurrency.utilisation * 50) / 40).toBeGreaterThanOrEqual(0.9);
    expect(byConcurrency.maxConcurrency).toBeLessThanOrEqual(16);
  });
});

describe('the simulation', () => {
  it('has the same result for the same seed', () => {
    const run = () => runOurs(scenarios[3]!, NO_LIMITS, WORKERS, SEED);
    expect(run()).toEqual(run());
  });

  it('runs the real p-queue in virtual time and restores the clock', async () => {
    const { setTimeout: timer } = globalThis;
    const pQueue = contestants.find(({ name }) => name.startsWith('p-queue'))!;
    const measured = await pQueue.run({ ...scenarios[0]!, lengthMs: 20_000 }, SEED);
    expect(measured.utilisation).toBeGreaterThan(0.9);
    expect(globalThis.setTimeout).toBe(timer);
    expect(Date.now()).toBeGreaterThan(1e12);
  });
});
