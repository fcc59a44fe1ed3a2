import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WaitingItems } from './waiting-items.ts';

it('returns ready items, the earliest first, and by seq within the same time', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 }), (readyTimes) => {
      const waiting = new WaitingItems();
      for (const [seq, readyAtMs] of readyTimes.entries())
        waiting.add({ seq, attempt: 0, failures: '', crashes: 0, suspects: null, outputs: {}, readyAtMs }, 0);
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

const item = (seq: number, attempt: number, suspects: number | null = null, readyAtMs = 0) => ({
  seq,
  attempt,
  suspects,
  failures: '',
  crashes: 0,
  outputs: {},
  readyAtMs,
});

it('groups items of one attempt and one suspect group, each once, whatever their order of arrival', () => {
  const shapes = fc.uniqueArray(
    fc.record({
      seq: fc.nat({ max: 50 }),
      attempt: fc.nat({ max: 2 }),
      suspects: fc.option(fc.nat({ max: 1 })),
      readyAtMs: fc.nat({ max: 3 }),
    }),
    { selector: ({ seq }) => seq, maxLength: 30 },
  );
  fc.assert(
    fc.property(
      shapes,
      fc.integer({ min: 1, max: 7 }),
      fc.infiniteStream(fc.nat()),
      (given, maxItems, keys) => {
        const drain = (order: typeof given) => {
          const waiting = new WaitingItems();
          for (const { seq, attempt, suspects, readyAtMs } of order)
            waiting.add(item(seq, attempt, suspects, readyAtMs), 0);
          const calls: number[][] = [];
          for (let now = 0; now <= 3; now += 1)
            for (let call = waiting.takeTogether(now, maxItems); call.length > 0; ) {
              expect(new Set(call.map(({ attempt, suspects }) => `${attempt} ${suspects}`)).size).toBe(1);
              expect(call.length).toBeLessThanOrEqual(maxItems);
              calls.push(call.map(({ seq }) => seq));
              call = waiting.takeTogether(now, maxItems);
            }
          return calls;
        };
        const calls = drain(given);
        expect(calls.flat().sort((a, b) => a - b)).toEqual(given.map(({ seq }) => seq).sort((a, b) => a - b));
        const shuffled = given
          .map((shape) => ({ shape, key: keys.next().value! }))
          .sort((a, b) => a.key - b.key)
          .map(({ shape }) => shape);
        expect(drain(shuffled)).toEqual(calls);
      },
    ),
  );
});

it('continues with the items that were passed over', () => {
  const waiting = new WaitingItems();
  for (const [seq, attempt] of [0, 1, 0, 0, 1].entries()) waiting.add(item(seq, attempt), 0);
  const seqs = () => waiting.takeTogether(0, 2).map(({ seq }) => seq);
  expect([seqs(), seqs(), seqs(), seqs()]).toEqual([[0, 2], [1, 4], [3], []]);
});
