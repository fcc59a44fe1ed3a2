import { expect, test } from 'vitest';
import { type CursorTrail, parseTrail, shorterTrail, trailBefore, trailText } from './cursor-trail.ts';

const trail = (count: number, isCut = false): CursorTrail => ({
  list: 'jobs',
  sort: 'newest',
  places: Array.from({ length: count }, (_, n) => [n]),
  isCut,
});

test('a trail survives a round trip, and another version is refused', () => {
  expect(parseTrail(trailText(trail(3, true)))).toEqual(trail(3, true));
  expect(() => parseTrail('[1,"jobs","newest",5]')).toThrow('it has version 1, expected 2');
});

test('a trail leads back to the first page, and not further', () => {
  expect(trailBefore(trail(2))).toEqual(trail(1));
  expect(trailBefore(trail(1))).toEqual(trail(0));
  expect(trailBefore(trail(0))).toBeNull();
  expect(trailBefore(null)).toBeNull();
});

test('a shortened trail keeps its page, and does not treat its oldest known page as the first', () => {
  const shorter = shorterTrail(trail(9))!;
  expect(shorter).toEqual({ ...trail(9, true), places: [[4], [5], [6], [7], [8]] });
  expect(trailBefore({ ...shorter, places: [[4]] })).toBeNull();
  expect(shorterTrail(trail(1))).toBeNull();
});
