import { expect, test } from 'vitest';
import { jobIdRange, shortJobIds } from './job-id-prefix.ts';

const ID = '018f2f6e-1111-4aaa-8bbb-0123456789ab';

test.each([
  ['0', '00000000-0000-0000-0000-000000000000', '0fffffff-ffff-ffff-ffff-ffffffffffff'],
  ['018F2F6E', '018f2f6e-0000-0000-0000-000000000000', '018f2f6e-ffff-ffff-ffff-ffffffffffff'],
  ['018f2f6e-', '018f2f6e-0000-0000-0000-000000000000', '018f2f6e-ffff-ffff-ffff-ffffffffffff'],
  ['018f2f6e-1', '018f2f6e-1000-0000-0000-000000000000', '018f2f6e-1fff-ffff-ffff-ffffffffffff'],
  ['018f2f6e1', '018f2f6e-1000-0000-0000-000000000000', '018f2f6e-1fff-ffff-ffff-ffffffffffff'],
  [ID, ID, ID],
])('the ids that start with %s are from %s to %s', (prefix, first, last) => {
  expect(jobIdRange(prefix)).toEqual({ first, last });
});

test.each(['', '-', 'what?', '018f-2f6e', `${ID}0`, `${ID}-`, '018f2f6e--1'])(
  'no id starts with %j',
  (prefix) => {
    expect(jobIdRange(prefix)).toBeNull();
  },
);

test('a short id has eight digits, or as many as it needs to be unique in its list', () => {
  const ids = [ID, '018f2f6e-1112-4aaa-8bbb-0123456789ab', 'c0ffee00-0000-4000-8000-000000000000', ID];
  expect([...shortJobIds(ids).values()]).toEqual(['018f2f6e-1111', '018f2f6e-1112', 'c0ffee00']);
  expect(shortJobIds([]).size).toBe(0);
});
