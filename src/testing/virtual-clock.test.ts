import { describe, expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('a virtual clock', () => {
  it('fires due timers by time, then in the order they were set, each at its own time', () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b', 10],
      ['late', 31],
    ] as const)
      clock.setTimer(ms, () => fired.push(`${name} at ${clock.now()}`));
    clock.moveTo(30);
    expect(fired).toEqual(['a at 10', 'b at 10', 'c at 30']);
    expect([clock.now(), clock.nextMs]).toEqual([30, 31]);
  });

  it('fires timers that are set while it advances, but no cancelled ones', () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const cancel = clock.setTimer(5, () => fired.push(-1));
    clock.setTimer(1, () => {
      cancel();
      clock.setTimer(2, () => fired.push(clock.now()));
    });
    clock.moveTo(10);
    cancel();
    expect(fired).toEqual([3]);
    expect(clock.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('never moves backwards', () => {
    const clock = new VirtualClock();
    clock.moveTo(10);
    clock.moveTo(5);
    expect(clock.now()).toBe(10);
  });

  it.each([-1, Number.NaN, 0])('treats a wait of %d ms as no wait', async (ms) => {
    const clock = new VirtualClock();
    const slept = clock.sleep(ms);
    clock.moveTo(0);
    await expect(slept).resolves.toBeUndefined();
  });

  it('rejects a sleep whose signal aborts, with its reason, and removes its timer', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const slept = clock.sleep(1000, controller.signal);
    controller.abort(new Error('time is over'));
    await expect(slept).rejects.toThrow('time is over');
    expect(clock.nextMs).toBe(Number.POSITIVE_INFINITY);
    await expect(clock.sleep(1, controller.signal)).rejects.toThrow('time is over');
  });
});
