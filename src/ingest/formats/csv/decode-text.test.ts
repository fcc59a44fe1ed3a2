import fc from 'fast-check';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { decodeText } from './decode-text.ts';

async function* cut(bytes: Buffer, size: number | (() => number)): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const length = typeof size === 'number' ? size : size();
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

/** The text and the positions that were replaced, which must not depend on the chunks. */
async function decode(bytes: Buffer, encoding: string, size: number | (() => number) = bytes.length || 1) {
  let text = '';
  const damagedAt: number[] = [];
  for await (const piece of decodeText(cut(bytes, size), encoding)) {
    expect(piece.text).not.toBe('');
    if (piece.damaged) {
      expect(piece.text).toMatch(/^\ufffd+$/);
      for (let i = 0; i < piece.text.length; i += 1) damagedAt.push(text.length + i);
    }
    text += piece.text;
  }
  return { text, damagedAt };
}

const TEXT = 'naïve;Größe;日本語;😀;\r\nПривет;한국어;x\n';
const SAMPLES: [name: string, bytes: Buffer, encoding: string, text: string][] = [
  ['UTF-8', Buffer.from(TEXT), 'utf-8', TEXT],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`), 'utf-8', TEXT],
  ['UTF-16LE', Buffer.from(TEXT, 'utf16le'), 'utf-16le', TEXT],
  ['UTF-16BE with a byte order mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), 'utf-16be', TEXT],
  ['UTF-32LE', iconv.encode(`\ufeff${TEXT}`, 'utf-32le'), 'utf-32le', TEXT],
  ['windows-1252', iconv.encode('Größe;€;“x”\n', 'windows-1252'), 'windows-1252', 'Größe;€;“x”\n'],
  [
    'Shift_JIS',
    iconv.encode('名前,表示,ソ能\nカタカナ,ｱｲｳ\n', 'shift_jis'),
    'shift_jis',
    '名前,表示,ソ能\nカタカナ,ｱｲｳ\n',
  ],
  ['EUC-JP', iconv.encode('名前,都市\n', 'euc-jp'), 'euc-jp', '名前,都市\n'],
  ['GB18030', iconv.encode('姓名,😀,城市\n', 'gb18030'), 'gb18030', '姓名,😀,城市\n'],
  ['Big5', iconv.encode('姓名,功能\n', 'big5'), 'big5', '姓名,功能\n'],
  ['EUC-KR', iconv.encode('이름,도시\n', 'euc-kr'), 'euc-kr', '이름,도시\n'],
];

describe('decodeText', () => {
  for (const [name, bytes, encoding, text] of SAMPLES) {
    it(`decodes ${name} in the same way at chunk sizes 1 to 17 and as a whole`, async () => {
      expect(await decode(bytes, encoding)).toEqual({ text, damagedAt: [] });
      for (let size = 1; size <= 17; size += 1) {
        expect(await decode(bytes, encoding, size)).toEqual({ text, damagedAt: [] });
      }
    });
  }

  it('accepts any spelling of an encoding', async () => {
    expect((await decode(Buffer.from('ä', 'latin1'), 'Latin-1')).text).toBe('ä');
  });

  // Counted as in the Encoding Standard, so that people see the same number of marks in other programs.
  const DAMAGED: [name: string, bytes: number[], text: string, damagedAt: number[]][] = [
    ['a lone continuation byte', [0x61, 0x80, 0x62], 'a\ufffdb', [1]],
    ['an overlong slash', [0xc0, 0xaf], '\ufffd\ufffd', [0, 1]],
    ['a surrogate as in CESU-8', [0xed, 0xa0, 0x80], '\ufffd\ufffd\ufffd', [0, 1, 2]],
    ['a sequence cut by a letter', [0xe2, 0x82, 0x61], '\ufffda', [0]],
    ['a sequence cut by the end', [0x61, 0xf0, 0x9f, 0x98], 'a\ufffd', [1]],
    ['a code point above the last', [0xf4, 0x90, 0x80, 0x80], '\ufffd\ufffd\ufffd\ufffd', [0, 1, 2, 3]],
    ['a byte that never occurs', [0x61, 0xff, 0x0a], 'a\ufffd\n', [1]],
    [
      'a real U+FFFD between two replaced bytes',
      [0xff, 0xef, 0xbf, 0xbd, 0xff],
      '\ufffd\ufffd\ufffd',
      [0, 2],
    ],
  ];
  for (const [name, numbers, text, damagedAt] of DAMAGED) {
    it(`replaces ${name} in the same way at every chunk size`, async () => {
      const bytes = Buffer.from(numbers);
      expect(text).toBe(bytes.toString('utf8'));
      for (let size = 1; size <= 17; size += 1) {
        expect(await decode(bytes, 'utf-8', size)).toEqual({ text, damagedAt });
      }
    });
  }

  it('does not report a U+FFFD of the file as damage', async () => {
    expect(await decode(Buffer.from('a\ufffdb'), 'utf-8')).toEqual({ text: 'a\ufffdb', damagedAt: [] });
    const utf16 = Buffer.from('a\ufffdb', 'utf16le');
    expect(await decode(utf16, 'utf-16le')).toEqual({ text: 'a\ufffdb', damagedAt: [] });
  });

  it('replaces bytes that a table of characters lacks', async () => {
    const bytes = Buffer.from([0x61, 0x81, 0x62]);
    expect(await decode(bytes, 'windows-1252')).toEqual({ text: 'a\ufffdb', damagedAt: [1] });
  });

  it('keeps half a surrogate pair of UTF-16 and replaces an odd last byte', async () => {
    const bytes = Buffer.from([0x61, 0, 0x00, 0xd8, 0x62, 0, 0x63]);
    for (let size = 1; size <= 8; size += 1) {
      expect(await decode(bytes, 'utf-16le', size)).toEqual({ text: 'a\ud800b\ufffd', damagedAt: [3] });
    }
  });

  it('strips one byte order mark, at the start only', async () => {
    expect((await decode(Buffer.from('\ufeffa\ufeffb'), 'utf-8', 1)).text).toBe('a\ufeffb');
    expect((await decode(Buffer.from('\ufeff'), 'utf-8', 2)).text).toBe('');
  });

  it('decodes any bytes to the same text in any chunks, and as Node does for UTF-8', async () => {
    const chunkSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'grapheme' }).map((text) => Buffer.from(text)),
      fc.constantFrom(0xe2, 0xf0, 0x9f, 0x80, 0xed, 0xa0, 0xc2).map((byte) => Buffer.from([byte])),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(noise, { maxLength: 8 }).map((parts) => Buffer.concat(parts)),
        chunkSizes,
        fc.constantFrom('utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'shift_jis', 'gb18030', 'euc-kr'),
        async (bytes, sizes, encoding) => {
          let next = 0;
          const whole = await decode(bytes, encoding);
          const inChunks = await decode(bytes, encoding, () => sizes[next++ % sizes.length]!);
          expect(inChunks).toEqual(whole);
          if (encoding === 'utf-8') expect(whole.text).toBe(bytes.toString('utf8').replace(/^\ufeff/, ''));
        },
      ),
      { numRuns: 500 },
    );
  });
});
