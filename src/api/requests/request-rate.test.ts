import { expect, test } from 'vitest';
import { LOCAL_ACTOR } from './actor.ts';
import { callerOf, RequestRate } from './request-rate.ts';

function rateAt(limits: { perSecond: number; burst: number }) {
  const clock = { ms: 0 };
  const rate = new RequestRate(limits, () => clock.ms);
  const takes = (caller: string, count: number): number => {
    let passed = 0;
    for (let i = 0; i < count; i += 1) {
      try {
        rate.take(caller);
        passed += 1;
      } catch {
        break;
      }
    }
    return passed;
  };
  return { rate, clock, takes };
}

test('a caller may send a burst at once, and then at the rate', () => {
  const { rate, clock, takes } = rateAt({ perSecond: 2, burst: 5 });
  expect(takes('a', 100)).toBe(5);
  expect(() => rate.take('a')).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', status: 429, retryAfterMs: 500 }),
  );
  expect(takes('b', 100)).toBe(5);
  clock.ms += 499;
  expect(takes('a', 100)).toBe(0);
  clock.ms += 1;
  expect(takes('a', 100)).toBe(1);
  clock.ms += 3_600_000;
  expect(takes('a', 100)).toBe(5);
});

test('forgets quiet callers, and bounds their number', () => {
  const { rate, clock, takes } = rateAt({ perSecond: 1, burst: 2 });
  for (let i = 0; i < 1000; i += 1) takes(`address ${i}`, 1);
  expect(rate.callers).toBe(1000);
  clock.ms += 2000;
  takes('another', 1);
  expect(rate.callers).toBe(1);
  for (let i = 0; i < 30_000; i += 1) {
    clock.ms += 0.001;
    takes(`address ${i}`, 2);
  }
  expect(rate.callers).toBeLessThanOrEqual(20_001);
});

test('counts keys apart from their user, and users apart from their address', () => {
  const ann = { ...LOCAL_ACTOR, userId: 'ann', via: 'session' as const };
  const names = [
    callerOf(ann, '10.0.0.1'),
    callerOf({ ...ann, via: 'key', keyId: 'k' }, '10.0.0.1'),
    callerOf(null, '10.0.0.1'),
  ];
  expect(new Set(names).size).toBe(3);
  expect(callerOf(LOCAL_ACTOR, '10.0.0.1')).toBe(callerOf(null, '10.0.0.1'));
  expect(callerOf(null, '2001:db8::1')).toBe(callerOf(null, '2001:db8::2'));
});
