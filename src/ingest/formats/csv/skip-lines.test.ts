import { describe, expect, it } from 'vitest';
import type { TextPiece } from './decode-text.ts';
import { skipLines } from './skip-lines.ts';

async function* cut(text: string, size: number): AsyncGenerator<TextPiece> {
  for (let at = 0; at < text.length; at += size) yield { text: text.slice(at, at + size), damaged: false };
}

async function skip(text: string, count: number, size: number): Promise<string> {
  let rest = '';
  for await (const piece of skipLines(cut(text, size), count)) {
    expect(piece.text).not.toBe('');
    rest += piece.text;
  }
  return rest;
}

describe('skipLines', () => {
  const text = 'one\n\r\ntwo\r\r\nthree\n\nfour';
  const RESTS = [
    text,
    '\r\ntwo\r\r\nthree\n\nfour',
    'two\r\r\nthree\n\nfour',
    '\r\nthree\n\nfour',
    'three\n\nfour',
    '\nfour',
    'four',
    '',
    '',
  ];
  for (const [count, rest] of RESTS.entries()) {
    it(`drops ${count} lines in the same way at chunk sizes 1 to 17`, async () => {
      for (let size = 1; size <= 17; size += 1) expect(await skip(text, count, size)).toBe(rest);
    });
  }

  it('keeps the damage flag of pieces', async () => {
    async function* pieces(): AsyncGenerator<TextPiece> {
      yield { text: 'a\nb', damaged: false };
      yield { text: '\ufffd', damaged: true };
    }
    const kept: TextPiece[] = [];
    for await (const piece of skipLines(pieces(), 1)) kept.push(piece);
    expect(kept).toEqual([
      { text: 'b', damaged: false },
      { text: '\ufffd', damaged: true },
    ]);
  });
});
