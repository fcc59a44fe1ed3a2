import { describe, expect, test } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatRate,
  formatRelative,
  formatShort,
  formatTimeLeft,
} from './format.ts';

describe('numbers for people', () => {
  test.each([
    [0, '0 %'],
    [0.0004, '<1 %'],
    [0.1904, '19 %'],
    [0.994, '99 %'],
    [0.99999, '>99 %'],
    [1, '100 %'],
  ])('%d of one is %s: nothing is rounded to done or to nothing', (part, text) => {
    expect(formatPercent(part)).toBe(text);
  });

  test.each([
    [250_000, 350_000, '4–5 min'],
    [50_000, 130_000, '50 s – 2 min'],
    [250_000, 280_000, 'about 4 min'],
    [250_000, null, 'at least 4 min'],
    [-3000, 4000, '0–4 s'],
  ])('%d to %d ms left are %s', (low, high, text) => expect(formatTimeLeft(low, high)).toBe(text));

  test.each([
    [0, '0 bytes'],
    [999, '999 bytes'],
    [1500, '1.5 kB'],
    [88_000_000, '88 MB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test.each([
    [12, '12 ms'],
    [59_400, '59 s'],
    [250_000, '4 min 10 s'],
    [3_600_000, '1 h'],
    [187_200_000, '2 d 4 h'],
  ])('%d ms are %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  test.each([
    [0, '0/s'],
    [1234.5, '1,235/s'],
    [2.25, '2.3/s'],
    [0.5, '30.0/min'],
    [0.001, '3.6/h'],
  ])('%d per second is %s', (rate, text) => expect(formatRate(rate)).toBe(text));

  test('times are relative to now', () => {
    const now = Date.parse('2026-01-01T12:00:00Z');
    expect(formatRelative('2026-01-01T11:59:57Z', now)).toBe('just now');
    expect(formatRelative('2026-01-01T11:52:00Z', now)).toBe('8 min ago');
    expect(formatRelative('2026-01-01T14:30:00Z', now)).toBe('in 2 h');
  });
});

test('marks of an axis have one unit', () => {
  expect([0, 0.5, 1].map((rate) => formatRate(rate, 1))).toEqual(['0/s', '0.5/s', '1.0/s']);
});

test('numbers are written as the formatter of the browser writes them', () => {
  const whole = new Intl.NumberFormat('en-US');
  const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
  const counts = [
    0, 7, 999, 1000, 1049, 1050, 1250, 9999, 10_000, 99_949, 99_950, 999_949, 999_950, 1_000_000,
  ];
  counts.push(1_250_000, 123_456_789, 999_999_999, 1_000_000_000, 7_654_321_987_654, -1, -1250, -999_950);
  expect(counts.map(formatCount)).toEqual(counts.map((count) => whole.format(count)));
  expect(counts.map(formatShort)).toEqual(counts.map((count) => short.format(count)));
});
