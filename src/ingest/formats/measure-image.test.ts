import fc from 'fast-check';
import { imageSize } from 'image-size';
import { describe, expect, it } from 'vitest';
import { bmp, gif, heif, jpeg, png, tiff, webp } from '../../../test/support/image-writer.ts';
import { identifyBytes, isImageType } from './magic-bytes.ts';
import { measureImage } from './measure-image.ts';

const IMAGES: [string, Buffer][] = [
  ['png', png(640, 480)],
  ['jpeg', jpeg(640, 480)],
  ['gif', gif(640, 480)],
  ['webp', webp(640, 480, 'VP8 ')],
  ['webp', webp(640, 480, 'VP8L')],
  ['webp', webp(640, 480, 'VP8X')],
  ['bmp', bmp(640, 480)],
  ['bmp', bmp(640, -480)],
  ['tiff', tiff(640, 480, false)],
  ['tiff', tiff(640, 480, true)],
  ['heic', heif('heic', 640, 480)],
  ['heic', heif('heic', 640, 480, 12)],
  ['avif', heif('avif', 640, 480)],
];

function measure(bytes: Buffer) {
  const type = identifyBytes(bytes);
  if (!isImageType(type)) throw new Error(`not an image: ${type}`);
  return { type, measured: measureImage(bytes, type) };
}

describe.each(IMAGES)('an image of type %s', (type, bytes) => {
  it('is measured from its header, as image-size does', () => {
    expect(measure(bytes)).toEqual({
      type,
      measured: { ok: true, width: 640, height: 480, pixels: 640 * 480 },
    });
    expect(imageSize(bytes)).toMatchObject({ width: 640, height: 480 });
  });

  it('is refused if it is cut off anywhere', () => {
    for (let length = 30; length < bytes.length; length += 1) {
      const cut = bytes.subarray(0, length);
      expect(measureImage(cut, type as 'png')).toMatchObject({ ok: false });
    }
  });

  it('is measured correctly if other data follows', () => {
    const polyglot = Buffer.concat([bytes, Buffer.from('PK\x03\x04<html><script>alert(1)</script>')]);
    expect(measure(polyglot).measured).toMatchObject({ ok: true, width: 640, height: 480 });
  });

  it('never takes long and never throws, however it is damaged', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 8 }), (changes) => {
        const broken = Buffer.from(bytes);
        for (const [at, byte] of changes) broken[at] = byte;
        expect(typeof measureImage(broken, type as 'png').ok).toBe('boolean');
      }),
    );
  });
});

describe('a JPEG', () => {
  it('that is cut off is refused although its thumbnail has an end marker', () => {
    const whole = jpeg(640, 480, jpeg(16, 16));
    expect(measure(whole).measured).toMatchObject({ ok: true, width: 640, height: 480 });
    expect(measure(whole.subarray(0, -2)).measured).toEqual({ ok: false, reason: 'the image is cut off' });
  });
});

describe('an image built to be slow', () => {
  it.each<[string, Buffer]>([
    ['a HEIC of 100,000 sizes', heif('heic', 10, 10, 99_998)],
    [
      'a HEIC of a million boxes',
      Buffer.concat([heif('heic', 10, 10), Buffer.alloc(8e6, Buffer.from('\0\0\0\x08free', 'latin1'))]),
    ],
    [
      'a JPEG of ten million tiny segments',
      Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(20e6, Buffer.from([0xff, 0xe0, 0, 2]))]),
    ],
    ['a JPEG of fill bytes', Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(20e6, 0xff)])],
    [
      'a PNG of empty chunks',
      Buffer.concat([
        png(1, 1).subarray(0, 33),
        Buffer.alloc(20e6, Buffer.from('\0\0\0\0tEXt\0\0\0\0', 'latin1')),
      ]),
    ],
    [
      'a GIF of empty extensions',
      Buffer.concat([gif(1, 1).subarray(0, 19), Buffer.alloc(20e6, Buffer.from([0x21, 0xfe, 0]))]),
    ],
  ])('is measured quickly: %s', (_, bytes) => {
    const start = process.cpuUsage();
    measure(bytes);
    const { user } = process.cpuUsage(start);
    // It takes about a tenth of a second. With quadratic time it would take minutes.
    expect(user / 1e6).toBeLessThan(5);
  });

  it('does not allocate the memory it claims: a TIFF with a billion strips', () => {
    const image = tiff(10, 10, false);
    image.writeUInt32LE(1e9, 14 + 2 * 12);
    expect(measure(image).measured).toMatchObject({ ok: true });
  });
});
