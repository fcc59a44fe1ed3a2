import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adaptShare, type ReportedCalls, initialShare, type ShareState, skipTime } from './adaptive-share.ts';

const SETTING = { perSecond: 100, settleMs: 750 };
const LOOK_MS = 250;

/** Simulates a service that accepts a number of calls per second and refuses the rest. Returns the share over time. */
function drive(
  start: ShareState,
  capacities: readonly { perSecond: number; seconds: number }[],
  perSecond: number,
): number[] {
  let state = start;
  let nowMs = state.window.sinceMs;
  let due = 0;
  let tokens = 1;
  const shares: number[] = [];
  for (const capacity of capacities) {
    for (let look = 0; look < (capacity.seconds * 1000) / LOOK_MS; look += 1) {
      nowMs += LOOK_MS;
      due += (state.share * perSecond * LOOK_MS) / 1000;
      const started = Math.floor(due);
      due -= started;
      tokens = Math.min(capacity.perSecond * 0.1 + 1, tokens) + (capacity.perSecond * LOOK_MS) / 1000;
      const ok = Math.min(started, Math.floor(tokens));
      tokens -= ok;
      const heard = { ok, throttled: started - ok, failed: 0, okMs: ok * 50, started, askedToWait: false };
      state = adaptShare(state, heard, nowMs, { ...SETTING, perSecond }).state;
      shares.push(state.share);
    }
  }
  return shares;
}

const count = fc.oneof(fc.constant(0), fc.nat(10), fc.nat(1_000_000), fc.constant(1e9));
const anything: fc.Arbitrary<ReportedCalls> = fc.record({
  ok: count,
  throttled: count,
  failed: count,
  okMs: count,
  started: count,
  askedToWait: fc.boolean(),
});

describe('the share', () => {
  it('stays above 0 and at most 1 for any reports and any clock changes', () => {
    const steps = fc.array(fc.tuple(anything, fc.integer({ min: -5000, max: 20_000 }), fc.boolean()), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(steps, fc.constantFrom(0.01, 1, 100, 100_000), (all, perSecond) => {
        let state = initialShare(0, 0.5);
        let nowMs = 0;
        for (const [heard, ms, isSkipped] of all) {
          nowMs += ms;
          state = adaptShare(state, heard, nowMs, { perSecond, settleMs: 750 }).state;
          if (isSkipped) state = skipTime(state, nowMs);
          for (const share of [state.share, state.top]) {
            expect(share).toBeGreaterThan(0);
            expect(share).toBeLessThanOrEqual(1);
          }
          expect(JSON.parse(JSON.stringify(state))).toEqual(state);
        }
      }),
    );
  });

  it('is within 0.4 and 1.8 times the accepted rate from 30 s after a step', () => {
    const level = fc.double({ min: 10, max: 100, noNaN: true });
    fc.assert(
      fc.property(level, level, (before, after) => {
        const steps = [
          { perSecond: before, seconds: 60 },
          { perSecond: after, seconds: 120 },
        ];
        const settled = drive(initialShare(0, 0.1), steps, 200).slice((90 * 1000) / LOOK_MS);
        const parts = settled.map((share) => (share * 200) / after);
        expect(parts.length).toBe((90 * 1000) / LOOK_MS);
        expect(Math.min(...parts)).toBeGreaterThan(0.4);
        expect(Math.max(...parts)).toBeLessThan(1.8);
      }),
    );
  });

  it('does not change while refusals are rare enough to be chance', () => {
    let state = initialShare(0);
    for (let look = 1; look <= 400; look += 1) {
      const throttled = look % 8 === 0 ? 1 : 0;
      const heard = { ok: 25 - throttled, throttled, failed: 0, okMs: 1000, started: 25, askedToWait: false };
      state = adaptShare(state, heard, look * LOOK_MS, SETTING).state;
    }
    expect(state.share).toBe(1);
  });

  it('accepts a latency that stays high as the usual one, instead of falling forever', () => {
    let state = initialShare(0);
    for (let look = 1; look <= 800; look += 1) {
      const heard = { ok: 25, throttled: 0, failed: 0, okMs: 25 * (look < 40 ? 50 : 1500), started: 25 };
      state = adaptShare(state, { ...heard, askedToWait: false }, look * LOOK_MS, SETTING).state;
      expect(state.share).toBeGreaterThan(0.4);
    }
    expect(state.usualLatencyMs).toBeGreaterThan(700);
  });

  it('does not fall when some answers of a fast service take longer', () => {
    let state = initialShare(0);
    for (let look = 1; look <= 800; look += 1) {
      const heard = { ok: 25, throttled: 0, failed: 0, okMs: 25 * 8 + (look % 6 ? 0 : 400), started: 25 };
      state = adaptShare(state, { ...heard, askedToWait: false }, look * LOOK_MS, SETTING).state;
    }
    expect(state.share).toBe(1);
  });

  it('treats two failures in five calls as chance, and three as trouble', () => {
    const shareAfter = (failed: number): number => {
      const heard = { ok: 5 - failed, throttled: 0, failed, okMs: 250, started: 5, askedToWait: false };
      return adaptShare(initialShare(0), heard, 6000, SETTING).state.share;
    };
    expect(shareAfter(2)).toBe(1);
    expect(shareAfter(3)).toBeLessThan(1);
  });

  it('does not mistake delays of its own machine for a slow service', () => {
    const shareAfter = (lateMs: number): number => {
      let state = initialShare(0);
      for (let look = 1; look <= 80; look += 1) {
        const heard = { ok: 25, throttled: 0, failed: 0, okMs: 25 * (look < 40 ? 50 : 600), started: 25 };
        const late = look < 40 ? 0 : lateMs;
        state = adaptShare(
          state,
          { ...heard, lateMs: late, askedToWait: false },
          look * LOOK_MS,
          SETTING,
        ).state;
      }
      return state.share;
    };
    expect(shareAfter(0)).toBeLessThan(1);
    expect(shareAfter(200)).toBe(1);
  });

  it('does not grow while it is not used', () => {
    let state: ShareState = { ...initialShare(0), share: 0.3, top: 0.3, starting: false };
    const heard = { ok: 1, throttled: 0, failed: 0, okMs: 50, started: 1, askedToWait: false };
    for (let look = 1; look <= 400; look += 1)
      state = adaptShare(state, heard, look * LOOK_MS, SETTING).state;
    expect(state.share).toBe(0.3);
  });
});
