import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ALONE_FROM_CRASHES, EXPIRED_ONCE, judgeCrash, judgeExpiry, MAX_CRASHES } from './crash-policy.ts';
import {
  countSeqs,
  eachSeq,
  rangesOf,
  type SeqRanges,
  subtractRanges,
  unionRanges,
} from '../items/seq-ranges.ts';

interface Waiting {
  items: SeqRanges;
  crashes: number;
}

/** Runs spans in queue order: a span with a culprit crashes, any other span completes. */
function simulate(
  items: SeqRanges,
  culprits: number[],
): { crashes: number; failed: number[]; done: number[] } {
  const queue: Waiting[] = [{ items, crashes: 0 }];
  const end = { crashes: 0, failed: [] as number[], done: [] as number[] };
  while (queue.length > 0) {
    const lease = queue.shift()!;
    const seqs = [...eachSeq(lease.items)];
    if (!seqs.some((seq) => culprits.includes(seq))) {
      end.done.push(...seqs);
      continue;
    }
    end.crashes += 1;
    if (end.crashes > 1000) throw new Error('the crashes do not end');
    const verdict = judgeCrash(lease.items, lease.crashes);
    if (verdict.kind === 'fail') end.failed.push(...eachSeq(verdict.items));
    else queue.push(...verdict.parts);
  }
  return end;
}

/**
 * Runs processes one after another. Each takes a suspect span and, unless that must run alone, up to `beside` ordinary
 * spans. If a process holds a culprit, all its spans are charged with the crash; otherwise they complete.
 */
function simulateProcesses(
  spans: SeqRanges[],
  culprits: number[],
  beside: number,
): { crashes: number; failed: number[]; done: number[] } {
  const queue: Waiting[] = spans.map((items) => ({ items, crashes: 0 }));
  const end = { crashes: 0, failed: [] as number[], done: [] as number[] };
  const take = (fits: (span: Waiting) => boolean): Waiting[] => {
    const at = queue.findIndex(fits);
    return at < 0 ? [] : queue.splice(at, 1);
  };
  while (queue.length > 0) {
    // The span with the most crashes goes first, which is the hardest order for the innocent ones.
    const most = Math.max(1, ...queue.map(({ crashes }) => crashes));
    const held = take(({ crashes }) => crashes === most);
    if (!held.some(({ crashes }) => crashes >= ALONE_FROM_CRASHES))
      for (let n = 0; n < beside; n += 1) held.push(...take(({ crashes }) => crashes === 0));
    const hasCulprit = held.some(({ items }) =>
      culprits.some((seq) => countSeqs(subtractRanges([[seq, seq + 1]], items)) === 0),
    );
    if (hasCulprit) end.crashes += 1;
    if (end.crashes > 10_000) throw new Error('the crashes do not end');
    for (const { items, crashes } of held) {
      const verdict = hasCulprit ? judgeCrash(items, crashes) : null;
      if (verdict === null) end.done.push(...eachSeq(items));
      else if (verdict.kind === 'fail') end.failed.push(...eachSeq(items));
      else queue.push(...verdict.parts);
    }
  }
  return end;
}

const spanWithCulprits = (count: number) =>
  fc.uniqueArray(fc.nat({ max: 5000 }), { minLength: count, maxLength: 400 }).chain((seqs) =>
    fc.record({
      seqs: fc.constant(seqs),
      culprits: fc.subarray(seqs, { minLength: count, maxLength: count }),
    }),
  );

describe('an item that kills its process', () => {
  it('fails after at most 3 + log2(n) crashes, and no other item fails', () => {
    fc.assert(
      fc.property(spanWithCulprits(1), ({ seqs, culprits }) => {
        const end = simulate(rangesOf(seqs), culprits);
        expect(end.failed).toEqual(culprits);
        expect(new Set(end.done)).toEqual(new Set(seqs.filter((seq) => !culprits.includes(seq))));
        expect(end.crashes).toBeLessThanOrEqual(MAX_CRASHES + Math.log2(seqs.length));
      }),
    );
  });

  it('fails together with a second one within twice the crashes, and no other item fails', () => {
    fc.assert(
      fc.property(spanWithCulprits(2), ({ seqs, culprits }) => {
        const end = simulate(rangesOf(seqs), culprits);
        expect(new Set(end.failed)).toEqual(new Set(culprits));
        expect(end.done).toHaveLength(seqs.length - 2);
        expect(end.crashes).toBeLessThanOrEqual(2 * (MAX_CRASHES + Math.log2(seqs.length)));
      }),
    );
  });

  it('fails as soon, and no other item fails, when suspects run beside ordinary items', () => {
    const processes = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 20 }),
      beside: fc.integer({ min: 1, max: 4 }),
      culprits: fc.uniqueArray(fc.nat({ max: 239 }), { minLength: 1, maxLength: 12 }),
    });
    fc.assert(
      fc.property(processes, ({ sizes, beside, culprits: drawn }) => {
        let next = 0;
        const spans = sizes.map((size): SeqRanges => {
          next += size;
          return [[next - size, next]];
        });
        const culprits = [...new Set(drawn.map((seq) => seq % next))];
        const end = simulateProcesses(spans, culprits, beside);
        expect(new Set(end.failed)).toEqual(new Set(culprits));
        expect(end.done).toHaveLength(next - culprits.length);
        const most = MAX_CRASHES + Math.log2(Math.max(...sizes));
        expect(end.crashes).toBeLessThanOrEqual(culprits.length * most);
      }),
    );
  });

  it('gets three calls if it was alone from the start', () => {
    expect(judgeCrash([[7, 8]], 0)).toEqual({ kind: 'requeue', parts: [{ items: [[7, 8]], crashes: 1 }] });
    expect(judgeCrash([[7, 8]], 1)).toEqual({ kind: 'requeue', parts: [{ items: [[7, 8]], crashes: 2 }] });
    expect(judgeCrash([[7, 8]], 2)).toEqual({ kind: 'fail', items: [[7, 8]], crashes: 3 });
  });
});

describe('the parts of a crashed lease', () => {
  it('are two halves that neither lose nor repeat an item', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat({ max: 500 }), { minLength: 2 }),
        fc.nat({ max: 2 }),
        (seqs, crashes) => {
          const whole = rangesOf(seqs);
          const verdict = judgeCrash(whole, crashes);
          if (verdict.kind !== 'requeue') throw new Error('expected a requeue');
          const [front, back] = verdict.parts;
          expect(verdict.parts).toHaveLength(2);
          expect(unionRanges(front!.items, back!.items)).toEqual(whole);
          expect(subtractRanges(front!.items, back!.items)).toEqual(front!.items);
          expect(countSeqs(front!.items) - countSeqs(back!.items)).toBeGreaterThanOrEqual(0);
          expect(countSeqs(front!.items) - countSeqs(back!.items)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('are blamed at most once while they contain several items', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 1000 }), fc.nat({ max: 2 }), (count, crashes) => {
        const verdict = judgeCrash([[0, count]], crashes);
        if (verdict.kind !== 'requeue') throw new Error('expected a requeue');
        for (const part of verdict.parts) expect(part.crashes).toBe(Math.max(crashes, 1));
      }),
    );
  });
});

describe('an expired lease', () => {
  it('is requeued whole without suspects the first time', () => {
    expect(judgeExpiry([[0, 8]], 0)).toEqual({
      kind: 'requeue',
      parts: [{ items: [[0, 8]], crashes: EXPIRED_ONCE }],
    });
    expect(EXPIRED_ONCE).toBeLessThan(0);
  });

  it('counts as a crash the second time, or if its items are suspects', () => {
    for (const crashes of [EXPIRED_ONCE, 1, 2])
      for (const items of [[[0, 8]], [[7, 8]]] satisfies SeqRanges[])
        expect(judgeExpiry(items, crashes)).toEqual(judgeCrash(items, Math.max(crashes, 0)));
  });
});
