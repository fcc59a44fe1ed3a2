import { expect, test } from 'vitest';
import { describeCheck, describeLeftOut } from './describe-file.ts';

test('reports emitted rows that were left out, with the setting that limits them', () => {
  expect(describeLeftOut({})).toBeNull();
  expect(describeLeftOut({ emitted: 5, repeated: 7, tooDeep: 0, tooMany: 0 })).toBeNull();
  expect(describeLeftOut({ tooDeep: 1200 })).toBe('Emitted rows left out: 1,200 deeper than emitMaxDepth');
  expect(describeLeftOut({ tooDeep: 2, tooMany: 3 })).toBe(
    'Emitted rows left out: 2 deeper than emitMaxDepth, 3 past emitMaxItems',
  );
});

test('counts the rows that would not run, with the number of checked rows and the first reasons', () => {
  const fine = { rows: 3, rejected: 0, refused: 0, kinds: [], reasons: [], wholeFile: true, stoppedBy: null };
  expect(describeCheck(fine)).toEqual(["Checked all 3 rows: the pipeline's input accepts them"]);
  const reasons = [{ line: 3, reason: 'n: expected a number' }];
  expect(
    describeCheck({
      rows: 2000,
      rejected: 1,
      refused: 2,
      kinds: [],
      reasons,
      wholeFile: false,
      stoppedBy: 'time',
    }),
  ).toEqual([
    "Checked the first 2,000 rows (the check ran out of time): 2 refused by the pipeline's input, 1 rejected as unreadable",
    '  Line 3: n: expected a number',
  ]);
});
