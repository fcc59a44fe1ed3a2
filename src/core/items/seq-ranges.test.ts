import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countSeqs,
  eachSeq,
  formatRanges,
  parseRanges,
  rangesOf,
  type SeqRanges,
  splitRanges,
  subtractRanges,
  unionRanges,
} from './seq-ranges.ts';

// Seqs from a small space, so that ranges often touch, overlap and contain each other.
const seqs = fc.array(fc.nat({ max: 60 }), { maxLength: 60 });
const ranges = seqs.map(rangesOf);

function expectCanonical(given: SeqRanges): void {
  for (const [i, [from, to]] of given.entries()) {
    expect(to).toBeGreaterThan(from);
    if (i > 0) expect(from).toBeGreaterThan(given[i - 1]![1]);
  }
}

function members(given: SeqRanges): number[] {
  return [...eachSeq(given)];
}

function sorted(given: Iterable<number>): number[] {
  return [...given].sort((a, b) => a - b);
}

describe('ranges of seqs, compared with a set of numbers', () => {
  it('contain exactly the given seqs, in canonical form', () => {
    fc.assert(
      fc.property(seqs, (given) => {
        const made = rangesOf(given);
        expectCanonical(made);
        expect(members(made)).toEqual(sorted(new Set(given)));
        expect(countSeqs(made)).toBe(new Set(given).size);
      }),
    );
  });

  it('are united like sets', () => {
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        const union = unionRanges(a, b);
        expectCanonical(union);
        expect(members(union)).toEqual(sorted(new Set([...members(a), ...members(b)])));
      }),
    );
  });

  it('are subtracted like sets', () => {
    fc.assert(
      fc.property(ranges, ranges, (a, b) => {
        const rest = subtractRanges(a, b);
        expectCanonical(rest);
        const removed = new Set(members(b));
        expect(members(rest)).toEqual(members(a).filter((seq) => !removed.has(seq)));
      }),
    );
  });

  it('are split at any count, and the parts unite to the whole', () => {
    fc.assert(
      fc.property(ranges, fc.integer({ min: -3, max: 70 }), (whole, count) => {
        const [head, tail] = splitRanges(whole, count);
        expectCanonical(head);
        expectCanonical(tail);
        expect(members(head)).toEqual(members(whole).slice(0, Math.max(0, count)));
        expect(members(tail)).toEqual(members(whole).slice(Math.max(0, count)));
        expect(unionRanges(head, tail)).toEqual(whole);
      }),
    );
  });

  it('survive a round trip through their text form', () => {
    const large = fc
      .array(fc.tuple(fc.integer({ min: 0, max: 2 ** 52 }), fc.integer({ min: 1, max: 1000 })))
      .map((parts) =>
        parts.reduce<SeqRanges>((all, [from, length]) => unionRanges(all, [[from, from + length]]), []),
      );
    fc.assert(
      fc.property(fc.oneof(ranges, large), (given) => {
        expect(parseRanges(formatRanges(given))).toEqual(given);
      }),
    );
  });
});

describe('the laws of sets', () => {
  it('hold for unions', () => {
    fc.assert(
      fc.property(ranges, ranges, ranges, (a, b, c) => {
        expect(unionRanges(a, b)).toEqual(unionRanges(b, a));
        expect(unionRanges(unionRanges(a, b), c)).toEqual(unionRanges(a, unionRanges(b, c)));
        expect(unionRanges(a, a)).toEqual(a);
        expect(unionRanges(a, [])).toEqual(a);
      }),
    );
  });

  it('hold for differences', () => {
    fc.assert(
      fc.property(ranges, ranges, ranges, (a, b, c) => {
        expect(subtractRanges(a, unionRanges(b, c))).toEqual(subtractRanges(subtractRanges(a, b), c));
        expect(unionRanges(subtractRanges(a, b), b)).toEqual(unionRanges(a, b));
        expect(subtractRanges(a, subtractRanges(a, b))).toEqual(subtractRanges(b, subtractRanges(b, a)));
        expect(subtractRanges(a, a)).toEqual([]);
        expect(subtractRanges(a, [])).toEqual(a);
        expect(countSeqs(a) + countSeqs(subtractRanges(b, a))).toBe(countSeqs(unionRanges(a, b)));
      }),
    );
  });

  it('hold for splits: two consecutive splits equal one', () => {
    fc.assert(
      fc.property(ranges, fc.nat({ max: 40 }), fc.nat({ max: 40 }), (whole, first, second) => {
        const [head, tail] = splitRanges(whole, first);
        expect(unionRanges(head, splitRanges(tail, second)[0])).toEqual(
          splitRanges(whole, first + second)[0],
        );
        expect(subtractRanges(whole, head)).toEqual(tail);
      }),
    );
  });
});

describe('items on their way through phases and retries', () => {
  interface Span {
    phase: number;
    attempt: number;
    items: SeqRanges;
  }
  const PHASES = 3;
  // One claim and its flush: the span, the number of items and the outcome of each item.
  const step = fc.record({
    span: fc.nat(),
    count: fc.integer({ min: 1, max: 40 }),
    fates: fc.array(fc.constantFrom('end', 'advance', 'retry', 'open'), { minLength: 1, maxLength: 40 }),
  });

  it('are each in exactly one span or have a result, after every flush', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(step, { maxLength: 40 }), (itemCount, steps) => {
        let spans: Span[] = [{ phase: 0, attempt: 0, items: [[0, itemCount]] }];
        let ended: SeqRanges = [];
        for (const { span, count, fates } of steps) {
          if (spans.length === 0) break;
          const claimed = spans[span % spans.length]!;
          const [lease, rest] = splitRanges(claimed.items, count);
          const fateOf = (wanted: string) =>
            rangesOf(members(lease).filter((_, at) => fates[at % fates.length] === wanted));
          const { phase, attempt } = claimed;
          const advanced = fateOf('advance');
          const isLast = phase === PHASES - 1;
          const done = isLast ? unionRanges(fateOf('end'), advanced) : fateOf('end');
          const recorded = [done, advanced, fateOf('retry')].reduce(unionRanges);
          ended = unionRanges(ended, done);
          spans = [
            ...spans.filter((each) => each !== claimed),
            { phase, attempt, items: rest },
            { phase, attempt, items: subtractRanges(lease, recorded) },
            { phase, attempt: attempt + 1, items: fateOf('retry') },
            { phase: phase + 1, attempt: 0, items: isLast ? [] : advanced },
          ].filter(({ items }) => items.length > 0);

          const all = [ended, ...spans.map(({ items }) => items)];
          for (const each of all) expectCanonical(each);
          expect(all.reduce(unionRanges)).toEqual([[0, itemCount]]);
          expect(all.reduce((sum, items) => sum + countSeqs(items), 0)).toBe(itemCount);
        }
      }),
    );
  });
});

describe('the text form', () => {
  it('is that of an int8multirange', () => {
    expect(formatRanges([])).toBe('{}');
    expect(
      formatRanges([
        [0, 3],
        [7, 8],
      ]),
    ).toBe('{[0,3),[7,8)}');
  });

  it.each([
    '',
    '{',
    '{[0,3]}',
    '{(0,3)}',
    '{[0,3), [7,8)}',
    '{[,3)}',
    '{[3,)}',
    '{[-1,3)}',
    '[0,3)',
    '{empty}',
    '{[00,3)}',
  ])('is refused when it is %s', (text) => {
    expect(() => parseRanges(text)).toThrow(`expected an int8multirange of finite ranges, got ${text}`);
  });
});

describe('a union', () => {
  it('joins ranges that touch, and leaves out empty ones', () => {
    expect(unionRanges([[0, 3]], [[3, 5]])).toEqual([[0, 5]]);
    expect(unionRanges([[4, 4]], [[9, 9]])).toEqual([]);
    expect(unionRanges([[0, 9]], [[2, 3]])).toEqual([[0, 9]]);
  });

  it('does not change its arguments', () => {
    const a: SeqRanges = [[0, 3]];
    const b: SeqRanges = [[2, 9]];
    unionRanges(a, b);
    expect([a, b]).toEqual([[[0, 3]], [[2, 9]]]);
  });
});
