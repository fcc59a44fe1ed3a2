import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addFailure, failuresOf, NO_FAILURES, strategyOf } from './failure-counts.ts';
import { ERROR_CLASSES } from '../items/outcome.ts';

it('counts each class separately, and equal histories are equal in any order', () => {
  const history = fc.array(fc.constantFrom(...ERROR_CLASSES), { maxLength: 30 });
  fc.assert(
    fc.property(history, (classes) => {
      const counts = classes.reduce(addFailure, NO_FAILURES);
      for (const each of ERROR_CLASSES)
        expect(failuresOf(counts, each)).toBe(classes.filter((other) => other === each).length);
      expect([...classes].reverse().reduce(addFailure, NO_FAILURES)).toBe(counts);
      expect(counts === NO_FAILURES).toBe(classes.length === 0);
    }),
  );
});

it('survives a round trip through its text form', () => {
  const counts = fc.tuple(...ERROR_CLASSES.map(() => fc.nat({ max: 20 })));
  fc.assert(
    fc.property(counts, (given) => {
      const write = (each: readonly number[]) =>
        ERROR_CLASSES.flatMap((errorClass, at) => Array.from({ length: each[at]! }, () => errorClass)).reduce(
          addFailure,
          NO_FAILURES,
        );
      const text = write(given);
      const read = ERROR_CLASSES.map((errorClass) => failuresOf(text, errorClass));
      expect(read).toEqual(given);
      expect(write(read)).toBe(text);
    }),
  );
});

it('continues with the strategy after those tried in earlier generations', () => {
  const strategies = ['name', 'code', 'image'];
  expect(strategyOf(strategies, NO_FAILURES)).toBe('name');
  expect(strategyOf(strategies, 'tried=2')).toBe('image');
  const again = addFailure(addFailure('tried=2', 'timeout'), 'not_found');
  expect(again).toBe('tried=2 timeout=1 not_found=1');
  expect(strategyOf(strategies, again), 'round again').toBe('name');
  expect(failuresOf(again, 'not_found'), 'attempts of this generation').toBe(1);
  expect(strategyOf([], 'tried=2')).toBeUndefined();
});

it('has a readable text form', () => {
  const counts = addFailure(addFailure(addFailure(NO_FAILURES, 'throttled'), 'overloaded'), 'throttled');
  expect(counts).toBe('throttled=2 overloaded=1');
});
