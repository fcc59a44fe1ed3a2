import { expect, it } from 'vitest';
import { RecentLoad } from './recent-load.ts';

/** As the kernel does it, every five seconds. */
function averages(processes: readonly number[]): number[] {
  const left = Math.exp(-5 / 60);
  let average = 0;
  return processes.map((count) => {
    average = average * left + count * (1 - left);
    return average;
  });
}

const times = (count: number, length: number): number[] => Array.from({ length }, () => count);

it('is what the system tells as long as nothing else is known', () => {
  expect(new RecentLoad().note(7, 0)).toBe(7);
});

it('falls within twenty seconds when a busy machine becomes quiet, and rises as soon', () => {
  const load = new RecentLoad();
  const told = averages([...times(36, 60), ...times(1, 12), ...times(20, 12)]);
  const recent = told.map((average, at) => load.note(average, at * 5000));
  expect(told[63]!).toBeGreaterThan(20);
  expect(recent[59]).toBeCloseTo(36, 0);
  for (const value of recent.slice(64, 72)) expect(value).toBeCloseTo(1, 5);
  for (const value of recent.slice(76)) expect(value).toBeCloseTo(20, 5);
});

it('is never below nothing, whatever is told and when', () => {
  const load = new RecentLoad();
  for (const [average, atMs] of [
    [30, 0],
    [0, 10_000],
    [0, 5000],
    [0, 30_000],
  ] as const)
    expect(load.note(average, atMs)).toBeGreaterThanOrEqual(0);
});
