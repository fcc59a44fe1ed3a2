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

// Seqs from a small space, so that ranges touch, overlap and contain each other all the time.
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
  it('hold exactly the seqs they were made of, in canonical form', () => {
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

  it('survive a trip through their text form', () => {
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

  it('does not change what it was given', () => {
    const a: SeqRanges = [[0, 3]];
    const b: SeqRanges = [[2, 9]];
    unionRanges(a, b);
    expect([a, b]).toEqual([[[0, 3]], [[2, 9]]]);
  });
});
