import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { monotonicMs } from '../../platform/clock.ts';
import { DeadlineQueue } from './deadline-queue.ts';

const TIMEOUT_MS = 1000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Call {
  name: string;
  startedMs: number;
  position: number;
}

/** A queue that takes calls by name, started now. */
function queueOf(onDue: () => void = () => {}) {
  const due: string[] = [];
  const calls = new Map<string, Call>();
  const queue = new DeadlineQueue<Call>(TIMEOUT_MS, (call) => {
    due.push(call.name);
    onDue();
  });
  return {
    due,
    add(name: string): void {
      const call = { name, startedMs: monotonicMs(), position: -1 };
      calls.set(name, call);
      queue.add(call);
    },
    remove: (name: string) => queue.remove(calls.get(name) ?? { name, startedMs: 0, position: -1 }),
    clear: () => queue.clear(),
    size: () => queue.size,
  };
}

describe('a deadline queue', () => {
  it('reports each call when its time is up, not earlier', () => {
    const queue = queueOf();
    queue.add('a');
    vi.advanceTimersByTime(400);
    queue.add('b');
    vi.advanceTimersByTime(599);
    expect(queue.due).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(queue.due).toEqual(['a']);
    vi.advanceTimersByTime(399);
    expect(queue.due).toEqual(['a']);
    vi.advanceTimersByTime(1);
    expect(queue.due).toEqual(['a', 'b']);
    vi.advanceTimersByTime(10 * TIMEOUT_MS);
    expect(queue.due).toEqual(['a', 'b']);
  });

  it('reports calls that are due together in one go, oldest first', () => {
    const queue = queueOf();
    for (const call of ['a', 'b', 'c']) queue.add(call);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(queue.due).toEqual(['a', 'b', 'c']);
  });

  it('forgets a call that returned in time', () => {
    const queue = queueOf();
    queue.add('a');
    queue.add('b');
    vi.advanceTimersByTime(500);
    queue.remove('a');
    queue.remove('never added');
    expect(queue.size()).toBe(1);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(queue.due).toEqual(['b']);
  });

  it('has one timer for any number of calls, and none when it is empty', () => {
    const queue = queueOf();
    for (let i = 0; i < 1000; i += 1) queue.add(`call ${i}`);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('works again for calls added after it was empty', () => {
    const queue = queueOf();
    queue.add('a');
    queue.remove('a');
    vi.advanceTimersByTime(TIMEOUT_MS * 3);
    queue.add('b');
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(queue.due).toEqual(['b']);
  });

  it('reports nothing after it was cleared', () => {
    const queue = queueOf();
    queue.add('a');
    queue.clear();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(TIMEOUT_MS * 3);
    expect(queue.due).toEqual([]);
  });

  it('may be cleared while it reports', () => {
    const queue = queueOf(() => queue.clear());
    queue.add('a');
    queue.add('b');
    vi.advanceTimersByTime(TIMEOUT_MS * 3);
    expect(queue.due).toEqual(['a']);
    expect(vi.getTimerCount()).toBe(0);
  });
});

// A slot whose call timed out takes the next item immediately, so the pool adds calls while the queue reports.
describe('a call that is added while another is reported', () => {
  function replacing(times: number) {
    let added = 0;
    const queue = queueOf(() => {
      added += 1;
      if (added <= times) queue.add(`replacement ${added}`);
    });
    return queue;
  }

  it('is due after its own time', () => {
    const queue = replacing(1);
    queue.add('a');
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(queue.due).toEqual(['a']);
    vi.advanceTimersByTime(TIMEOUT_MS);
    expect(queue.due).toEqual(['a', 'replacement 1']);
  });

  it('does not delay calls added earlier', () => {
    const queue = replacing(1);
    queue.add('a');
    vi.advanceTimersByTime(100);
    queue.add('b');
    vi.advanceTimersByTime(1000);
    expect(queue.due).toEqual(['a', 'b']);
  });

  it('does not leave a second timer behind', () => {
    const queue = replacing(50);
    queue.add('a');
    for (let round = 0; round < 20; round += 1) {
      vi.advanceTimersByTime(TIMEOUT_MS);
      expect(vi.getTimerCount()).toBe(1);
    }
    queue.clear();
    expect(vi.getTimerCount()).toBe(0);
  });
});
