import { expect, it } from 'vitest';
import { turnOfLoop } from '../../platform/clock.ts';
import { ClaimsUnderWay } from './claims-under-way.ts';

const first = { jobId: 'a', phase: 0 };
const second = { jobId: 'a', phase: 1 };

/** Notes whether the promise has resolved. */
function watch(promise: Promise<boolean>): { done: boolean | null } {
  const seen: { done: boolean | null } = { done: null };
  void promise.then((value) => {
    seen.done = value;
  });
  return seen;
}

it('a claim that found nothing does not wait if no other is in progress', async () => {
  expect(await new ClaimsUnderWay().whenFewer(first)).toBe(false);
});

it('waits for a claim that ends and is not followed by another', async () => {
  const underWay = new ClaimsUnderWay();
  underWay.begin(first);
  underWay.begin(first);
  const waiting = watch(underWay.whenFewer(first));
  underWay.end(first);
  underWay.begin(first);
  await turnOfLoop();
  await turnOfLoop();
  expect(waiting.done).toBe(null);
  underWay.end(first);
  await turnOfLoop();
  await turnOfLoop();
  expect(waiting.done).toBe(true);
});

it('two claims that found nothing do not wake each other', async () => {
  const underWay = new ClaimsUnderWay();
  underWay.begin(first);
  const findNothing = (): { done: boolean | null } => {
    underWay.begin(first);
    underWay.end(first);
    return watch(underWay.whenFewer(first));
  };
  const waiting = [findNothing(), findNothing()];
  await turnOfLoop();
  await turnOfLoop();
  expect(waiting.map(({ done }) => done)).toEqual([null, null]);
  underWay.end(first);
  await turnOfLoop();
  await turnOfLoop();
  expect(waiting.map(({ done }) => done)).toEqual([true, true]);
});

it('does not wait for claims of another phase', async () => {
  const underWay = new ClaimsUnderWay();
  underWay.begin(first);
  expect(await underWay.whenFewer(second)).toBe(false);
});

it('a job has claims under way while one waits', async () => {
  const underWay = new ClaimsUnderWay();
  underWay.begin(first);
  const waiting = underWay.whenFewer(first);
  underWay.end(first);
  expect(underWay.has('a')).toBe(true);
  await waiting;
  expect(underWay.has('a')).toBe(false);
});
