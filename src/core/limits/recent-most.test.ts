import { expect, test } from 'vitest';
import { RecentMost } from './recent-most.ts';

test('is 0 before the first value', () => {
  expect(new RecentMost().at(1000)).toBe(0);
});

test('returns the largest value, and half of it after three seconds', () => {
  const most = new RecentMost();
  most.note(800, 0);
  most.note(100, 0);
  expect(most.at(0)).toBe(800);
  expect(most.at(3000)).toBeCloseTo(400);
  expect(most.at(9000)).toBeCloseTo(100);
});

test('a value replaces a maximum that has decayed below it, and decays from then on', () => {
  const most = new RecentMost();
  most.note(800, 0);
  most.note(500, 3000);
  expect(most.at(3000)).toBe(500);
  expect(most.at(6000)).toBeCloseTo(250);
});

test('a smaller value does not change how the larger one decays', () => {
  const most = new RecentMost();
  most.note(800, 0);
  most.note(10, 1500);
  expect(most.at(3000)).toBeCloseTo(400);
});

test('a clock that moves back does not increase the value', () => {
  const most = new RecentMost();
  most.note(800, 5000);
  expect(most.at(0)).toBe(800);
});
