import { expect, test } from 'vitest';
import { parseRetryAfter, webhookDelayMs } from './webhook-retry.ts';

const DAY_MS = 86_400_000;

test('twenty attempts spread over about three days, and the twentieth is the last', () => {
  for (const fraction of [0, 0.5, 1]) {
    let totalMs = 0;
    for (let attempt = 1; attempt < 20; attempt += 1) totalMs += webhookDelayMs(attempt, 20, fraction)!;
    expect(totalMs / DAY_MS).toBeGreaterThan(2.3);
    expect(totalMs / DAY_MS).toBeLessThan(3.7);
  }
  expect(webhookDelayMs(20, 20, 0.5)).toBeNull();
});

test('delays differ between messages, so that a recovered receiver does not get all of them together', () => {
  expect(webhookDelayMs(3, 20, 0)).toBe(16_000);
  expect(webhookDelayMs(3, 20, 1)).toBe(24_000);
});

test('a receiver may ask for a longer delay, within bounds, but not for a shorter one', () => {
  expect(webhookDelayMs(1, 20, 0.5, 60_000)).toBe(60_000);
  expect(webhookDelayMs(1, 20, 0.5, 1)).toBe(5000);
  expect(webhookDelayMs(1, 20, 0.5, 400 * DAY_MS)).toBe(10 * 3_600_000);
});

test.each([
  [undefined, null],
  ['120', 120_000],
  ['soon', null],
  ['-5', null],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 60_000],
])('Retry-After %j means %j ms', (header, ms) => {
  expect(parseRetryAfter(header, 0)).toBe(ms);
});
