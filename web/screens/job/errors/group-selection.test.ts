import { expect, test } from 'vitest';
import { groupsExport, groupsRequest } from './group-selection.ts';

const group = (n: number) => ({ phase: n, signature: `invalid: no sku & more ${'x'.repeat(150)} ${n}` });

test('one group keeps the form of older servers, several are a list', () => {
  const [first, second] = [group(0), group(1)];
  expect(groupsRequest([first])).toEqual({ errorGroup: first.signature, phase: 0 });
  expect(groupsRequest([first, second])).toEqual({
    errorGroups: [
      { errorGroup: first.signature, phase: 0 },
      { errorGroup: second.signature, phase: 1 },
    ],
  });
});

test('a download names its groups, unless they are too many for a URL', () => {
  const query = new URLSearchParams(groupsExport([group(3)])!);
  expect(JSON.parse(query.get('errorGroups')!)).toEqual([{ errorGroup: group(3).signature, phase: 3 }]);
  expect(groupsExport(Array.from({ length: 100 }, (_, n) => group(n)))).toBeNull();
});
