import { expect, it } from 'vitest';
import { QuantileWindow } from '../../core/claims/quantile-window.ts';
import type { Admission } from '../admission/admission.ts';
import { ClaimDemand } from './claim-demand.ts';

/** Ten slots, and handlers so fast that by their times alone the slots would finish 100,000 items during two claims. */
function fastPool() {
  const queue = { queuedCount: 0, bypassedCount: 0, limitCount: 0, isCrowded: false };
  const itemMs = new QuantileWindow();
  itemMs.add(0.01);
  const admission = queue as unknown as Admission;
  const demand = new ClaimDemand({ admission, slots: 10, itemMs, onRoom: () => {} });
  /** A claim of 50 ms during which `started` queued items start. */
  const claim = (items: number, started: number): void => {
    const before = demand.startedCount;
    queue.queuedCount -= started;
    demand.noteClaim(50, before);
    queue.queuedCount += items;
    demand.noteArrived(items);
  };
  return { queue, demand, claim };
}

it('claims as far ahead as items start during a claim, not as handler times and slots promise', () => {
  const { queue, demand, claim } = fastPool();
  claim(5000, 0);
  expect(demand.isHungry).toBe(true);
  claim(5000, 3000);
  queue.queuedCount = 8001;
  expect(demand.isHungry).toBe(false);
  queue.queuedCount = 8000;
  expect(demand.isHungry).toBe(true);
});

it('claims further ahead after each small claim that found the queue empty', () => {
  const { queue, demand, claim } = fastPool();
  const needed: boolean[] = [];
  for (let round = 0; round < 5; round += 1) {
    claim(20, queue.queuedCount);
    queue.queuedCount = 20 * (round + 1);
    needed.push(demand.isHungry);
  }
  expect(needed).toEqual([true, true, true, true, true]);
});
