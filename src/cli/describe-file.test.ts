import { expect, test } from 'vitest';
import { describeCheck, describeLeftOut } from './describe-file.ts';

test('rows that handlers emitted and that were left out are told, with the setting that did it', () => {
  expect(describeLeftOut({})).toBeNull();
  expect(describeLeftOut({ emitted: 5, repeated: 7, tooDeep: 0, tooMany: 0 })).toBeNull();
  expect(describeLeftOut({ tooDeep: 1200 })).toBe('emitted rows left out: 1,200 deeper than emitMaxDepth');
  expect(describeLeftOut({ tooDeep: 2, tooMany: 3 })).toBe(
    'emitted rows left out: 2 deeper than emitMaxDepth, 3 past emitMaxItems',
  );
});

test('the rows that would not run are counted, with how many were checked and the first reasons', () => {
  const fine = { rows: 3, rejected: 0, refused: 0, reasons: [], wholeFile: true, stoppedBy: null };
  expect(describeCheck(fine)).toEqual(["checked all 3 rows: the pipeline's input accepts them"]);
  const reasons = [{ line: 3, reason: 'n: expected a number' }];
  expect(
    describeCheck({ rows: 2000, rejected: 1, refused: 2, reasons, wholeFile: false, stoppedBy: 'time' }),
  ).toEqual([
    "checked the first 2,000 rows (the check ran out of time): 2 refused by the pipeline's input, 1 rejected as unreadable",
    '  line 3: n: expected a number',
  ]);
});
