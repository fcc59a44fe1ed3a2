// Times that a process measured for the phases of a job, in a form that another process can start with: samples of
// item and claim times, which determine claim sizes and lease lengths. Invalid parts of stored samples are ignored.
import type { QuantileWindow } from '../claims/quantile-window.ts';

/** Enough for a quartile and a slow tail, and soon outweighed by new measurements. */
const SAMPLE_SIZE = 32;
const MAX_MS = 86_400_000;

export interface PhaseTimes {
  itemMs: number[];
  claimMs: number[];
}

/** By phase name. */
export type LearnedTimes = Readonly<Record<string, PhaseTimes>>;

interface Windows {
  itemMs: QuantileWindow;
  claimMs: QuantileWindow;
}

export function sampleTimes({ itemMs, claimMs }: Windows): PhaseTimes {
  const sample = (window: QuantileWindow): number[] =>
    window.sample(SAMPLE_SIZE).map((ms) => Math.round(ms * 1000) / 1000);
  return { itemMs: sample(itemMs), claimMs: sample(claimMs) };
}

export function restoreTimes({ itemMs, claimMs }: Windows, times: PhaseTimes): void {
  for (const ms of times.itemMs) itemMs.add(ms);
  for (const ms of times.claimMs) claimMs.add(ms);
}

export function readLearnedTimes(stored: unknown): LearnedTimes {
  const phases = fieldOf(stored, 'phases');
  if (typeof phases !== 'object' || phases === null || Array.isArray(phases)) return {};
  const known = Object.entries(phases).map(([phase, times]) => [
    phase,
    { itemMs: readSample(fieldOf(times, 'itemMs')), claimMs: readSample(fieldOf(times, 'claimMs')) },
  ]);
  return Object.fromEntries(known) as LearnedTimes;
}

function readSample(stored: unknown): number[] {
  if (!Array.isArray(stored)) return [];
  return stored
    .filter((ms): ms is number => typeof ms === 'number' && ms >= 0 && ms <= MAX_MS)
    .slice(0, SAMPLE_SIZE);
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
