import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordedOutcome } from './flush-outcomes.ts';
import { inOrder, ResultBlocks } from './result-blocks.ts';

function outcome(seq: number, changes: Partial<RecordedOutcome> = {}): RecordedOutcome {
  const base = { kind: 'terminal', status: 'DONE', failure: null, delayMs: 0, handlerMs: 1.26 } as const;
  return { ...base, seq, json: `{"n":${seq}}`, ...changes };
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
const blocksOf = (outcomes: RecordedOutcome[]) => {
  const results = new ResultBlocks(1, true);
  for (const each of inOrder(outcomes).ordered) if (each.kind === 'terminal') results.add(each);
  return results.close();
};
const edges = ({ blocks }: ResultBlocks) => blocks.map(({ firstSeq, upto }) => [firstSeq, upto]);
const FAILED = { status: 'ERROR', json: null } as const;

describe('results of a lease', () => {
  it('become blocks of at most 500 neighbours, in any order', () => {
    const shuffled = range(10, 1110)
      .map((seq) => outcome(seq))
      .toReversed();
    const cut = blocksOf(shuffled);
    expect(edges(cut)).toEqual([
      [10, 510],
      [510, 1010],
      [1010, 1110],
    ]);
    expect(cut.rows).toEqual([]);
    expect(cut.blocks[2]).toMatchObject({
      attempt: 1,
      itemCount: 100,
      lines: range(1010, 1110)
        .map((seq) => `{"n":${seq}}`)
        .join('\n'),
    });
  });

  it('stay rows if they are few', () => {
    const cut = blocksOf(range(0, 15).map((seq) => outcome(seq)));
    expect(cut.blocks).toEqual([]);
    expect(cut.rows).toHaveLength(15);
  });

  it('leave an empty line for an item that ended in another way, but not at the edges', () => {
    const failed = [0, 1, 20, 39];
    const cut = blocksOf(range(0, 40).map((seq) => outcome(seq, failed.includes(seq) ? FAILED : {})));
    expect(edges(cut)).toEqual([[2, 39]]);
    expect(cut.blocks[0]!.itemCount).toBe(36);
    expect(cut.blocks[0]!.lines.split('\n')[18]).toBe('');
    expect(cut.blocks[0]!.handlerMs.slice(1, -1).split(',')[18]).toBe('null');
  });

  it('end a block at an item whose result comes later', () => {
    const cut = blocksOf(range(0, 80).map((seq) => outcome(seq, seq === 40 ? { kind: 'retry' } : {})));
    expect(edges(cut)).toEqual([
      [0, 40],
      [41, 80],
    ]);
  });

  it('are rows if they are long or contain an escaped character', () => {
    const others: Record<number, string> = { 5: JSON.stringify('x'.repeat(9000)), 6: '"\\u0000"' };
    const cut = blocksOf(range(0, 40).map((seq) => outcome(seq, others[seq] ? { json: others[seq] } : {})));
    expect(edges(cut)).toEqual([[0, 40]]);
    expect(cut.rows.map(({ seq }) => seq)).toEqual([5, 6]);
  });

  it('keep a block under 256 kB', () => {
    const json = JSON.stringify('x'.repeat(8000));
    const cut = blocksOf(range(0, 100).map((seq) => outcome(seq, { json })));
    expect(cut.blocks.every(({ lines }) => lines.length <= 256 * 1024)).toBe(true);
    expect(cut.blocks.map(({ itemCount }) => itemCount)).toEqual([32, 32, 32]);
    expect(cut.rows).toHaveLength(4);
  });

  it('are each in one block or one row, and a block covers only items that end in this flush', () => {
    const kinds = fc.constantFrom<Partial<RecordedOutcome>>({}, {}, {}, {}, {}, {}, FAILED, {
      kind: 'retry',
    });
    const some = fc.array(fc.option(kinds, { freq: 20 }), { maxLength: 700 });
    fc.assert(
      fc.property(some, fc.boolean(), (changes, isReversed) => {
        const outcomes = changes.flatMap((change, seq) => (change ? [outcome(seq, change)] : []));
        const cut = blocksOf(isReversed ? outcomes.toReversed() : outcomes);
        const ended = new Set(outcomes.filter(({ kind }) => kind === 'terminal').map(({ seq }) => seq));
        const stored = cut.rows.map(({ seq }) => seq);
        for (const { firstSeq, upto, lines, itemCount, handlerMs, costs } of cut.blocks) {
          const each = lines.split('\n');
          expect([each.length, handlerMs.split(',').length, costs.split(',').length]).toEqual(
            Array(3).fill(upto - firstSeq),
          );
          expect(range(firstSeq, upto).every((seq) => ended.has(seq))).toBe(true);
          const found = each.flatMap((line, at) => (line === '' ? [] : [firstSeq + at]));
          expect(found).toHaveLength(itemCount);
          expect(each[0]).not.toBe('');
          expect(each.at(-1)).not.toBe('');
          stored.push(...found);
        }
        const done = outcomes.filter(({ kind, status }) => kind === 'terminal' && status === 'DONE');
        expect(stored.toSorted((a, b) => a - b)).toEqual(
          done.map(({ seq }) => seq).toSorted((a, b) => a - b),
        );
      }),
    );
  });
});
