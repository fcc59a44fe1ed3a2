import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WaitingItems } from './waiting-items.ts';

it('hands out items when they are ready, the earliest first, and those of one moment by their position', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 }), (readyTimes) => {
      const waiting = new WaitingItems();
      for (const [seq, readyAtMs] of readyTimes.entries())
        waiting.add({ seq, attempt: 0, failures: '', crashes: 0, previous: null, readyAtMs }, 0);
      const taken: [number, number][] = [];
      for (let now = 0; now <= 20; now += 1) {
        expect(waiting.nextMs).toBeGreaterThanOrEqual(now);
        for (let item = waiting.take(now); item; item = waiting.take(now)) {
          expect(item.readyAtMs).toBe(now);
          taken.push([item.readyAtMs, item.seq]);
        }
      }
      const expected = readyTimes.map((readyAtMs, seq): [number, number] => [readyAtMs, seq]);
      expect(taken).toEqual(expected.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
    }),
  );
});
