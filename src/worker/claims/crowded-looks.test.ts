import { expect, test } from 'vitest';
import { CrowdedLooks } from './crowded-looks.ts';

/** Milliseconds until the next claim is due. */
function dueAfter(looks: CrowdedLooks, limits: number, nowMs: number): number {
  let waitMs = 0;
  while (!looks.isDue(limits, nowMs + waitMs)) waitMs += 10;
  return waitMs;
}

test('claims that bring no new key become rarer', () => {
  const looks = new CrowdedLooks();
  expect(looks.isDue(0, 0)).toBe(true);
  const waits: number[] = [];
  let nowMs = 0;
  for (let look = 0; look < 7; look += 1) {
    looks.noteArrived(5, true, nowMs);
    looks.noteLimits(5);
    const waitMs = dueAfter(looks, 5, nowMs);
    waits.push(waitMs);
    nowMs += waitMs;
  }
  expect(waits).toEqual([200, 400, 800, 1600, 2000, 2000, 2000]);
});

test('the next claim comes soon after a limit ran empty or the last claim brought new keys', () => {
  const looks = new CrowdedLooks();
  for (let look = 0; look < 6; look += 1) looks.noteArrived(5, true, 0);
  expect(dueAfter(looks, 5, 0)).toBe(2000);
  expect(dueAfter(looks, 4, 0)).toBe(100);
  looks.noteLimits(6);
  expect(dueAfter(looks, 6, 0)).toBe(100);
  looks.noteArrived(6, true, 0);
  expect(dueAfter(looks, 6, 0)).toBe(100);
  looks.noteArrived(6, true, 0);
  expect(dueAfter(looks, 6, 0)).toBe(200);
});

test('the interval is reset once few items are held back', () => {
  const looks = new CrowdedLooks();
  for (let look = 0; look < 6; look += 1) looks.noteArrived(5, true, 0);
  looks.noteArrived(5, false, 0);
  expect(dueAfter(looks, 5, 0)).toBe(100);
});
