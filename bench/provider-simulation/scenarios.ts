// What happens to the modelled service, each for five virtual minutes.

export interface Scenario {
  name: string;
  /** Calls per second while all is well. */
  capacity: number;
  latencyMs: number;
  lengthMs: number;
  /** Told with each refusal; null: it is not. */
  retryAfterMs: number | null;
  /** Part of the calls that is refused for no reason. */
  noise: number;
  outage: { fromMs: number; toMs: number; kind: '503' | 'timeout' } | null;
  drop: { fromMs: number; toMs: number; to: number } | null;
  /** Somebody else takes a varying part. */
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
