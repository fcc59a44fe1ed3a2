// Scenarios for the modelled service, each of five virtual minutes.

export interface Scenario {
  name: string;
  /** Calls per second of the healthy service. */
  capacity: number;
  latencyMs: number;
  lengthMs: number;
  /** Sent with each refusal; null if it is not sent. */
  retryAfterMs: number | null;
  /** Share of the calls that is refused at random. */
  noise: number;
  outage: { fromMs: number; toMs: number; kind: '503' | 'timeout' } | null;
  drop: { fromMs: number; toMs: number; to: number } | null;
  /** Another client uses a varying share of the capacity. */
  neighbour: boolean;
}

const HEALTHY = {
  lengthMs: 300_000,
  retryAfterMs: null,
  noise: 0,
  outage: null,
  drop: null,
  neighbour: false,
};
const DROP = { fromMs: 100_000, toMs: 200_000, to: 1 / 3 };
const OUTAGE = { fromMs: 100_000, toMs: 130_000 };

export function scenariosFor(capacity: number, latencyMs: number): Scenario[] {
  const base = { ...HEALTHY, capacity, latencyMs };
  return [
    { ...base, name: 'healthy' },
    { ...base, name: 'healthy, Retry-After 1 s', retryAfterMs: 1000 },
    { ...base, name: '0.5 % refused for no reason', noise: 0.005 },
    { ...base, name: 'capacity to a third and back', drop: DROP },
    { ...base, name: 'to a third and back, Retry-After 1 s', drop: DROP, retryAfterMs: 1000 },
    { ...base, name: 'outage of 30 s, 503', outage: { ...OUTAGE, kind: '503' } },
    { ...base, name: 'outage of 30 s, timeouts', outage: { ...OUTAGE, kind: 'timeout' } },
    { ...base, name: 'neighbour takes up to 30 %', neighbour: true },
    { ...base, name: 'neighbour, Retry-After 1 s', neighbour: true, retryAfterMs: 1000 },
  ];
}
