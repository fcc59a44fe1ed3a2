import { expect, test } from 'vitest';
import { RecentMost } from './recent-most.ts';

test('nothing noted is nothing', () => {
  expect(new RecentMost().at(1000)).toBe(0);
});

test('the largest counts, and half as much after three seconds', () => {
  const most = new RecentMost();
  most.note(800, 0);
  most.note(100, 0);
  expect(most.at(0)).toBe(800);
  expect(most.at(3000)).toBeCloseTo(400);
  expect(most.at(9000)).toBeCloseTo(100);
});

test('a value replaces what has become smaller than it, and ages from then on', () => {
  const most = new RecentMost();
  most.note(800, 0);
  most.note(500, 3000);
  expect(most.at(3000)).toBe(500);
  expect(most.at(6000)).toBeCloseTo(250);
});

test('one that is smaller changes nothing about how the larger ages', () => {
  const most = new RecentMost();
  most.note(800, 0);
  most.note(10, 1500);
  expect(most.at(3000)).toBeCloseTo(400);
});

test('a clock that goes back makes nothing larger', () => {
  const most = new RecentMost();
  most.note(800, 5000);
  expect(most.at(0)).toBe(800);
});
