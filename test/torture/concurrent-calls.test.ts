import { expect, test } from 'vitest';
import { ConcurrentCalls } from './concurrent-calls.ts';

const open = (): ConcurrentCalls => new ConcurrentCalls(() => 2);

test('more calls than a limit allows are a violation, even if they are answered immediately', () => {
  const calls = open();
  const started = ['a', 'b', 'c'].map((worker, at) => calls.start('/one', worker, at));
  for (const call of started) calls.end(call, false, 3);
  expect(calls.violations(1000)).toEqual([
    '/one: 3 calls instead of 2: process a for 2 ms, b for 1 ms, c for 0 ms',
  ]);
  expect(calls.most).toEqual({ '/one': 3 });
});

test('limits are counted per path, and calls that ended do not count', () => {
  const calls = open();
  calls.start('/one', 'a', 0);
  calls.start('/two', 'a', 0);
  calls.end(calls.start('/one', 'a', 0), false, 1);
  calls.start('/one', 'b', 2);
  expect(calls.violations(1000)).toEqual([]);
  expect(calls.excused).toBe(0);
});

test('a call that was given up just before is excused, and one that was given up much later is not', () => {
  const calls = open();
  const [soon, late] = [calls.start('/one', 'a', 0), calls.start('/one', 'b', 0)];
  calls.start('/one', 'c', 5000);
  calls.end(soon, true, 5001);
  expect(calls.violations(5200)).toEqual([]);
  expect(calls.excused).toBe(1);
  calls.start('/one', 'd', 6000);
  calls.end(late, true, 6101);
  expect(calls.violations(7000)).toHaveLength(1);
});
