// Derives measurements from the call log of the provider.
import { availableCapacity, type CallLog } from './provider.ts';
import type { Scenario } from './scenarios.ts';

export interface Measured {
  /** Accepted calls as a share of the available capacity. */
  utilisation: number;
  /** Refused calls as a share of all calls. */
  throttled: number;
  callsInOutage: number | null;
  /** Seconds until 80 % of the capacity is used again; null if nothing failed, infinite if it never recovered. */
  backAfterS: number | null;
  /** Highest number of starts within one second. */
  maxPerSecond: number;
  maxConcurrency: number;
}

export function measureCalls(scenario: Scenario, log: CallLog): Measured {
  const { outage } = scenario;
  return {
    utilisation: log.acceptedMs.length / capacityBetween(scenario, 0, scenario.lengthMs),
    throttled: log.throttled / Math.max(1, log.startedMs.length),
    callsInOutage: outage
      ? countBetween(log.startedMs, outage.toMs) - countBetween(log.startedMs, outage.fromMs)
      : null,
    backAfterS: backAfterS(scenario, log.acceptedMs),
    maxPerSecond: maxWithin(log.startedMs, 1000),
    maxConcurrency: log.maxConcurrency,
  };
}

const STEP_MS = 100;

function capacityBetween(scenario: Scenario, fromMs: number, toMs: number): number {
  let sum = 0;
  for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS)
    sum += (availableCapacity(scenario, atMs) * Math.min(STEP_MS, toMs - atMs)) / 1000;
  return sum;
}

/** End of the first window after the recovery, of two seconds or 20 calls, with at least 80 % used. */
function backAfterS(scenario: Scenario, acceptedMs: readonly number[]): number | null {
  const recoveredMs = scenario.outage?.toMs ?? scenario.drop?.toMs;
  if (recoveredMs === undefined) return null;
  const stretchMs = Math.max(2000, 20_000 / scenario.capacity);
  for (let toMs = recoveredMs + stretchMs; toMs <= scenario.lengthMs; toMs += STEP_MS) {
    const taken = countBetween(acceptedMs, toMs) - countBetween(acceptedMs, toMs - stretchMs);
    if (taken >= 0.8 * capacityBetween(scenario, toMs - stretchMs, toMs)) return (toMs - recoveredMs) / 1000;
  }
  return Number.POSITIVE_INFINITY;
}

/** Number of times before `beforeMs`; the list is sorted. */
function countBetween(times: readonly number[], beforeMs: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < beforeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function maxWithin(times: readonly number[], windowMs: number): number {
  let most = 0;
  let from = 0;
  for (let to = 0; to < times.length; to += 1) {
    while (times[to]! - times[from]! >= windowMs) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
