// The modelled service. A token bucket refuses calls beyond the capacity. Latency is normal until far more calls are in
// flight than the capacity needs, then it grows proportionally. During an outage every call fails.
import type { EventQueue } from './event-queue.ts';
import type { Scenario } from './scenarios.ts';

export interface Answer {
  kind: 'ok' | 'throttled' | 'failed';
  ms: number;
  retryAfterMs: number | null;
}

/** Log of the provider for the measurements: times of accepted calls and of all calls. */
export interface CallLog {
  acceptedMs: number[];
  startedMs: number[];
  throttled: number;
  failed: number;
  maxConcurrency: number;
}

/** Size of a full bucket: seconds of capacity, and a minimum number of calls. */
const BURST_S = 0.2;
const MIN_BURST = 3;
/** Calls in flight, as a multiple of the number that the capacity needs, above which latency grows. */
const KNEE = 1.5;
/** Maximum duration of a refusal or a 503. */
const QUICK_MS = 20;
const TIMEOUT_MS = 10_000;

export class Provider {
  readonly log: CallLog = { acceptedMs: [], startedMs: [], throttled: 0, failed: 0, maxConcurrency: 0 };
  readonly #events: EventQueue;
  readonly #scenario: Scenario;
  readonly #random: () => number;
  #tokens: number;
  #filledMs = 0;
  #underWay = 0;

  constructor(events: EventQueue, scenario: Scenario, random: () => number) {
    this.#events = events;
    this.#scenario = scenario;
    this.#random = random;
    this.#tokens = Math.max(MIN_BURST, scenario.capacity * BURST_S);
  }

  call(answered: (answer: Answer) => void): void {
    const { log } = this;
    log.startedMs.push(this.#events.nowMs);
    this.#underWay += 1;
    log.maxConcurrency = Math.max(log.maxConcurrency, this.#underWay);
    const answer = this.#decide();
    if (answer.kind === 'ok') log.acceptedMs.push(this.#events.nowMs);
    else log[answer.kind] += 1;
    this.#events.after(answer.ms, () => {
      this.#underWay -= 1;
      answered(answer);
    });
  }

  #decide(): Answer {
    const { latencyMs, outage, retryAfterMs, noise } = this.#scenario;
    const nowMs = this.#events.nowMs;
    const quickMs = Math.min(QUICK_MS, latencyMs);
    if (outage && nowMs >= outage.fromMs && nowMs < outage.toMs)
      return { kind: 'failed', ms: outage.kind === 'timeout' ? TIMEOUT_MS : quickMs, retryAfterMs: null };
    const capacity = availableCapacity(this.#scenario, nowMs);
    const full = Math.max(MIN_BURST, capacity * BURST_S);
    this.#tokens = Math.min(full, this.#tokens + ((nowMs - this.#filledMs) / 1000) * capacity);
    this.#filledMs = nowMs;
    if (this.#random() < noise) return { kind: 'throttled', ms: quickMs, retryAfterMs: null };
    if (this.#tokens < 1) return { kind: 'throttled', ms: quickMs, retryAfterMs };
    this.#tokens -= 1;
    const knee = Math.max(4, KNEE * capacity * (latencyMs / 1000));
    const usualMs = latencyMs * (0.6 + 0.8 * this.#random());
    return { kind: 'ok', ms: usualMs * Math.max(1, this.#underWay / knee), retryAfterMs: null };
  }
}

/** Calls per second that the service accepts from us at that moment. */
export function availableCapacity({ capacity, outage, drop, neighbour }: Scenario, atMs: number): number {
  if (outage && atMs >= outage.fromMs && atMs < outage.toMs) return 0;
  let available = capacity;
  if (drop && atMs >= drop.fromMs && atMs < drop.toMs) available *= drop.to;
  // The neighbour takes between nothing and three tenths of the capacity, in a cycle of two minutes.
  if (neighbour) available *= 0.85 + 0.15 * Math.cos((2 * Math.PI * atMs) / 120_000);
  return available;
}
