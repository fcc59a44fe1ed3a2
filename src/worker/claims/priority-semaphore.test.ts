import { expect, it } from 'vitest';
import { turnOfLoop } from '../../platform/clock.ts';
import { PrioritySemaphore } from './priority-semaphore.ts';

const phase = (pipeline: string, index: number, priority = 0) => ({ pipeline, index, priority });

it('grants as many as there are permits, in order of precedence', async () => {
  const gate = new PrioritySemaphore(1);
  const granted: string[] = [];
  const ask = (name: string, of: ReturnType<typeof phase>) =>
    void gate.take(of).then(() => granted.push(name));
  ask('first come', phase('a', 0));
  ask('early phase', phase('a', 0));
  ask('late phase', phase('a', 1));
  ask('another pipeline', phase('b', 0));
  ask('urgent', phase('c', 0, 1));
  await turnOfLoop();
  expect(granted).toEqual(['first come']);
  for (let i = 0; i < 4; i += 1) {
    gate.release(phase('x', 0));
    await turnOfLoop();
  }
  expect(granted.slice(1)).toEqual(['urgent', 'late phase', 'early phase', 'another pipeline']);
});

it('waits one turn for a phase that precedes all waiting ones, and no longer', async () => {
  const gate = new PrioritySemaphore(1);
  const [urgent, other] = [phase('a', 0, 1), phase('b', 0)];
  await gate.take(urgent);
  let waited = true;
  const low = gate.take(other).then(() => {
    waited = false;
  });
  gate.release(urgent);
  // Like a claim loop whose pool needs items again.
  await Promise.resolve();
  await gate.take(urgent);
  expect(waited).toBe(true);
  gate.release(urgent);
  await low;
  expect(waited).toBe(false);
});
