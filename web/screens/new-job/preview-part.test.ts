import { expect, test } from 'vitest';
import { canBeCut, endOfLastLine, PART_BYTES, partForPreview } from './preview-part.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

test('a small file is sent whole', async () => {
  const file = new Blob(['a,b\n1,2\n']);
  expect(await partForPreview(file)).toEqual({ bytes: file, isWhole: true });
});

test('only whole lines from the start of a large text are sent', async () => {
  const { bytes, isWhole } = await partForPreview(new Blob(['sku,title\n'.repeat(PART_BYTES / 5)]));
  expect(isWhole).toBe(false);
  expect(bytes.size).toBeLessThanOrEqual(PART_BYTES);
  expect((await bytes.text()).endsWith('title\n')).toBe(true);
});

test('formats that must be read whole are sent whole', async () => {
  const workbook = new Blob([new Uint8Array([0x50, 0x4b, 3, 4]), new Uint8Array(PART_BYTES)]);
  expect((await partForPreview(workbook)).isWhole).toBe(true);
  expect(canBeCut(bytesOf('  [{"sku":1}]'))).toBe(false);
  expect(canBeCut(new Uint8Array([0x1f, 0x8b, 8, 0]))).toBe(false);
  expect(canBeCut(bytesOf('{"sku":1}\n{"sku":2}\n'))).toBe(true);
});

test('a line in UTF-16 keeps both bytes of its end', () => {
  const wide = new Uint8Array([0xff, 0xfe, 0x61, 0, 0x0a, 0, 0x62, 0]);
  expect(endOfLastLine(wide)).toBe(6);
  expect(endOfLastLine(bytesOf('a\nb'))).toBe(2);
  expect(endOfLastLine(bytesOf('one line'))).toBe(8);
});
