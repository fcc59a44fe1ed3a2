import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseRange } from './byte-range.ts';

test.each([
  ['bytes=0-0', { kind: 'part', start: 0, end: 1 }],
  ['bytes=2-5', { kind: 'part', start: 2, end: 6 }],
  ['Bytes=2-', { kind: 'part', start: 2, end: 10 }],
  ['bytes=9-99', { kind: 'part', start: 9, end: 10 }],
  ['bytes=-3', { kind: 'part', start: 7, end: 10 }],
  ['bytes=-99', { kind: 'part', start: 0, end: 10 }],
  ['bytes=10-', { kind: 'unsatisfiable' }],
  ['bytes=10-20', { kind: 'unsatisfiable' }],
  ['bytes=-0', { kind: 'unsatisfiable' }],
  [undefined, { kind: 'whole' }],
  ['', { kind: 'whole' }],
  ['bytes=-', { kind: 'whole' }],
  ['bytes=5-2', { kind: 'whole' }],
  ['bytes=0-1,4-5', { kind: 'whole' }],
  ['items=0-1', { kind: 'whole' }],
  ['bytes=0x1-', { kind: 'whole' }],
  [`bytes=${'9'.repeat(40)}-`, { kind: 'whole' }],
])('of ten bytes %s is %j', (header, expected) => {
  expect(chooseRange(header, 10)).toEqual(expected);
});

test('a part is never empty and never beyond the file, for any header', () => {
  const number = fc.oneof(fc.constant(''), fc.nat().map(String));
  fc.assert(
    fc.property(number, number, fc.nat(), (first, last, bytes) => {
      const chosen = chooseRange(`bytes=${first}-${last}`, bytes);
      if (chosen.kind !== 'part') return;
      expect(chosen.start).toBeGreaterThanOrEqual(0);
      expect(chosen.end).toBeGreaterThan(chosen.start);
      expect(chosen.end).toBeLessThanOrEqual(bytes);
    }),
  );
});
