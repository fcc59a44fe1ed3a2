import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createXmlReader, readXml } from './xml-reader.ts';

function read(xml: string, cut = [xml.length]): string[] {
  const seen: string[] = [];
  let text = '';
  const event = (what: string) => {
    if (text !== '') seen.push(text);
    text = '';
    seen.push(what);
  };
  const reader = createXmlReader('part', {
    open: (name) => event(`<${name}>`),
    close: (name) => event(`</${name}>`),
    // Text may come in pieces.
    text: (piece) => (text += piece),
  });
  let from = 0;
  for (const to of [...cut, xml.length]) {
    reader.write(xml.slice(from, to));
    from = Math.max(from, to);
  }
  reader.end();
  return seen;
}

const DOCUMENT =
  '<?xml version="1.0"?><!-- a > b --><x:a xmlns:x="u" t="1>2" s=\'"\'><b/>1 &lt; 2 &amp;&#65;&#x1F600;<c >t\r\nu\rv&#13;\n</c ><![CDATA[<raw>&amp;]]></x:a>\n';

describe('the XML of a part', () => {
  it('is reported as elements by their local names, and text', () => {
    expect(read(DOCUMENT)).toEqual([
      '<a>',
      '<b>',
      '</b>',
      '1 < 2 &A😀',
      '<c>',
      't\nu\nv\r\n',
      '</c>',
      '<raw>&amp;',
      '</a>',
    ]);
  });

  it('gives the same result wherever it is cut', () => {
    const whole = read(DOCUMENT);
    fc.assert(
      fc.property(fc.array(fc.nat(DOCUMENT.length), { maxLength: 6 }), (cuts) => {
        expect(
          read(
            DOCUMENT,
            [...cuts].sort((a, b) => a - b),
          ),
        ).toEqual(whole);
      }),
      { numRuns: 300 },
    );
    for (let at = 0; at < DOCUMENT.length; at += 1) expect(read(DOCUMENT, [at])).toEqual(whole);
  });

  it.each([
    ['<a><b></a>', 'unexpected close tag'],
    ['<a></b></a>', 'unexpected close tag'],
    ['<a>', 'unclosed tag'],
    ['<a></a', 'unclosed tag'],
    ['<a><!-- ', 'unclosed tag'],
    ['', 'document must contain a root element'],
    ['<a/><b/>', 'only one root'],
    ['<a b></a>', 'attribute without value'],
    ['<!DOCTYPE a><a/>', 'a document type'],
    ['<a><!DOCTYPE a></a>', 'a document type'],
    ['<a><!ENTITY x "y"></a>', 'a document type'],
    ['<a>'.repeat(300), 'nested'],
  ])('is refused if it is broken: %s', (xml, message) => {
    expect(() => read(xml)).toThrow(message);
  });

  it('supports only the predefined entities of XML', () => {
    expect(read('<a>&lol;&nbsp;&#x110000;</a>')).toEqual(['<a>', '&lol;&nbsp;&#x110000;', '</a>']);
  });

  it('may have characters that XML does not allow', () => {
    expect(read('<a>\u000b]]>&#0;</a>')).toEqual(['<a>', '\u000b]]>&#0;', '</a>']);
  });

  it('is refused if a tag or text in it never ends', () => {
    const reader = createXmlReader('part', {});
    const piece = ' '.repeat(1024 * 1024);
    reader.write('<a><b ');
    expect(() => {
      for (let written = 0; written <= 64; written += 1) reader.write(piece);
    }).toThrow('67108864 characters');
  });

  it('is refused if its bytes are not valid text', async () => {
    async function* chunks() {
      yield Buffer.from('<a>');
      yield Buffer.from([0xff, 0xfe, 0xfd]);
      yield Buffer.from('</a>');
    }
    await expect(async () => {
      for await (const _ of readXml(chunks(), 'part', {}));
    }).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('bytes that are not text'),
    });
  });

  it.each(['utf16le', 'utf16be', 'utf8'] as const)('may be %s, a byte at a time', async (encoding) => {
    const little = Buffer.from('\ufeff<a>ä€😀</a>', encoding === 'utf8' ? 'utf8' : 'utf16le');
    const bytes = encoding === 'utf16be' ? little.swap16() : little;
    let text = '';
    async function* chunks() {
      yield bytes.subarray(0, 4);
      for (const byte of bytes.subarray(4)) yield Buffer.from([byte]);
    }
    for await (const _ of readXml(chunks(), 'part', { text: (piece) => (text += piece) }));
    expect(text).toBe('ä€😀');
  });
});

describe('an attribute', () => {
  it.each([
    ['c r="A1" s="2" t="s"', 'r', 'A1'],
    ['c r="A1" s="2" t="s"', 't', 's'],
    ["c\n\tr = 'A1'\n/", 'r', 'A1'],
    ['c t=\' r="B2" \' r="A1"', 'r', 'A1'],
    ['c xr="B2" r="A1"', 'r', 'A1'],
    ['c rx="B2"', 'r', undefined],
    ['c', 'r', undefined],
    ['c r="a&amp;b"', 'r', 'a&b'],
    ['sheet r:id="x"', 'r:id', 'x'],
  ])('of <%s> called %s is %s', (tag, name, value) => {
    const values: (string | undefined)[] = [];
    const reader = createXmlReader('part', { open: (_, { attributes }) => values.push(attributes[name]) });
    reader.write(tag.endsWith('/') ? `<${tag}>` : `<${tag}/>`);
    reader.end();
    expect(values).toEqual([value]);
  });
});
