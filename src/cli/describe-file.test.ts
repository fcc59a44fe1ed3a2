import { expect, test } from 'vitest';
import { describeLeftOut } from './describe-file.ts';

test('rows that handlers emitted and that were left out are told, with the setting that did it', () => {
  expect(describeLeftOut({})).toBeNull();
  expect(describeLeftOut({ emitted: 5, repeated: 7, tooDeep: 0, tooMany: 0 })).toBeNull();
  expect(describeLeftOut({ tooDeep: 1200 })).toBe('emitted rows left out: 1,200 deeper than emitMaxDepth');
  expect(describeLeftOut({ tooDeep: 2, tooMany: 3 })).toBe(
    'emitted rows left out: 2 deeper than emitMaxDepth, 3 past emitMaxItems',
  );
});
