import { describe, expect, it } from 'vitest';
import { shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import { workbookParts, writeWorkbook } from '../../../test/support/workbook-writer.ts';
import { deflatedZeros, writeZip, type ZipPart } from '../../../test/support/zip-writer.ts';
import { inspectArchive } from './inspect-archive.ts';

const files = useTestFiles();
const limits = shippedLimits();
const GIGABYTE = 1024;

const PLAIN = { sheets: [{ name: 'One', data: '<row r="1"><c r="A1" t="str"><v>a</v></c></row>' }] };

function inspect(zip: Buffer, changed = {}): Promise<void> {
  return inspectArchive(files.write(zip), { ...limits, ...changed });
}

function withPart(part: ZipPart): Buffer {
  return writeWorkbook({ ...PLAIN, extra: [part] });
}

/** Growth of the resident set in bytes while `work` runs. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage().rss;
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss);
  }, 5);
  await work();
  clearInterval(timer);
  return Math.max(highest, process.memoryUsage().rss) - before;
}

describe('an archive passes', () => {
  it('if its content matches its headers', async () => {
    await inspect(writeWorkbook(PLAIN));
    await inspect(withPart({ name: 'xl/media/image1.bin', data: Buffer.alloc(100_000, 7), store: true }));
  });

  it('whatever its names are, because they are never used as paths', async () => {
    await inspect(withPart({ name: '../../etc/passwd', data: 'x' }));
    await inspect(withPart({ name: '/absolute', data: 'x' }));
    await inspect(withPart({ name: 'C:\\windows\\x', data: 'x' }));
  });

  it('with exactly the allowed number of entries, but not with one more', async () => {
    const zip = withPart({ name: 'extra', data: 'x' });
    const entries = workbookParts(PLAIN).length + 1;
    await inspect(zip, { archiveMaxEntries: entries });
    await expect(inspect(zip, { archiveMaxEntries: entries - 1 })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('archiveMaxEntries'),
    });
  });

  it('with exactly the allowed number of bytes, but not with one more', async () => {
    const parts = workbookParts(PLAIN);
    const total = parts.reduce((sum, part) => sum + Buffer.byteLength(part.data ?? ''), 0);
    await inspect(writeZip(parts), { inflateMaxBytes: total });
    await expect(inspect(writeZip(parts), { inflateMaxBytes: total - 1 })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('inflateMaxBytes'),
    });
  });
});

describe('a bomb', () => {
  const bomb = deflatedZeros(GIGABYTE);

  it('of a thousand to one is refused by its ratio, after the first MiB', async () => {
    const zip = withPart({ name: 'xl/sharedStrings.xml', deflated: bomb, size: GIGABYTE * 1024 * 1024 });
    const growth = await growthDuring(async () => {
      await expect(inspect(zip)).rejects.toMatchObject({
        code: 'FILE_TOO_LARGE',
        message: expect.stringContaining('inflateMaxRatio'),
      });
    });
    expect(growth).toBeLessThan(150 * 1024 * 1024);
  });

  it('that stays below the ratio is refused by its bytes, without keeping them in memory', async () => {
    const zip = withPart({ name: 'xl/sharedStrings.xml', deflated: bomb, size: GIGABYTE * 1024 * 1024 });
    const growth = await growthDuring(async () => {
      await expect(
        inspect(zip, { inflateMaxRatio: 1100, inflateMaxBytes: 512 * 1024 * 1024 }),
      ).rejects.toMatchObject({
        code: 'FILE_TOO_LARGE',
        message: expect.stringContaining('inflateMaxBytes'),
      });
    });
    expect(growth).toBeLessThan(150 * 1024 * 1024);
  });

  it('that declares a small size is refused because the size is wrong', async () => {
    const zip = withPart({ name: 'xl/sharedStrings.xml', deflated: bomb, size: 1000 });
    await expect(inspect(zip)).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('size of xl/sharedStrings.xml'),
    });
  });

  it('of many entries that are each below the limit is refused by their sum', async () => {
    const parts = Array.from({ length: 300 }, (_, i) => ({ name: `${i}`, data: Buffer.alloc(900 * 1024) }));
    await expect(inspect(writeZip(parts))).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('the archive to inflate'),
    });
  });

  it('of a hundred thousand entries is refused before they are read', async () => {
    const parts = Array.from({ length: 100_000 }, (_, i) => ({ name: `${i}`, data: '', store: true }));
    const growth = await growthDuring(async () => {
      await expect(inspect(writeZip(parts))).rejects.toMatchObject({
        code: 'FILE_TOO_LARGE',
        message: expect.stringContaining('got 100000'),
      });
    });
    expect(growth).toBeLessThan(150 * 1024 * 1024);
  });
});

describe('an archive is refused', () => {
  it.each<[string, ZipPart, string, string]>([
    ['whose size is too small', { name: 'x', data: 'abcdef', size: 3 }, 'FILE_INVALID', 'the size of x'],
    ['whose size is too large', { name: 'x', data: 'abcdef', size: 9 }, 'FILE_INVALID', 'the size of x'],
    ['whose checksum is wrong', { name: 'x', data: 'abc', checksum: 1 }, 'FILE_INVALID', 'the checksum of x'],
    [
      'whose headers differ in the name',
      { name: 'x', data: 'a', localName: 'y' },
      'FILE_INVALID',
      'the name of x',
    ],
    ['whose headers differ in size', { name: 'x', data: 'a', localSize: 7 }, 'FILE_INVALID', 'the size of x'],
    [
      'with bytes after the deflated ones',
      { name: 'x', data: '', deflated: Buffer.from([3, 0, 1, 2, 3]) },
      'FILE_INVALID',
      'the compressed size of x',
    ],
    ['that is encrypted', { name: 'x', data: 'a', encrypted: true }, 'FILE_UNSUPPORTED', 'x encrypted'],
    ['with an unknown compression', { name: 'x', data: 'a', method: 93 }, 'FILE_UNSUPPORTED', 'method 93'],
    [
      'that is not deflated',
      { name: 'x', deflated: Buffer.from('garbage!'), size: 8 },
      'FILE_INVALID',
      'damaged',
    ],
    ['that names a part twice', { name: 'XL/Workbook.xml', data: '<a/>' }, 'FILE_INVALID', 'twice'],
  ])('%s', async (_, part, code, message) => {
    await expect(inspect(withPart(part))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it('wherever it is cut off', async () => {
    const zip = writeWorkbook(PLAIN);
    for (const length of [30, 100, Math.floor(zip.length / 2), zip.length - 30, zip.length - 1]) {
      await expect(inspect(zip.subarray(0, length))).rejects.toMatchObject({ code: 'FILE_INCOMPLETE' });
    }
  });
});

describe('a document type', () => {
  const LAUGHS =
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]><sst><si><t>&lol2;</t></si></sst>';

  it.each<[string, Buffer | string]>([
    ['with entities', LAUGHS],
    ['that reads a file', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
    ['after a comment', '<!-- harmless --><!DOCTYPE a><a/>'],
    ['in UTF-16, little end first', Buffer.from(`\ufeff${LAUGHS}`, 'utf16le')],
    ['in UTF-16, big end first', Buffer.from(`\ufeff${LAUGHS}`, 'utf16le').swap16()],
    ['in UTF-16 without a mark', Buffer.from(LAUGHS, 'utf16le')],
    ['behind a byte order mark', `\ufeff${LAUGHS}`],
  ])('%s is refused', async (_, data) => {
    await expect(inspect(withPart({ name: 'xl/sharedStrings.xml', data }))).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('document type'),
    });
    await expect(inspect(withPart({ name: 'xl/embedded.bin', data }))).rejects.toMatchObject({
      code: 'FILE_INVALID',
    });
  });

  it('is ignored where it is text', async () => {
    await inspect(withPart({ name: 'a.xml', data: '<a><![CDATA[<!DOCTYPE x>]]></a>' }));
    await inspect(withPart({ name: 'a.xml', data: '<!-- no <!DOCTYPE here --><a/>' }));
    await inspect(withPart({ name: 'a.bin', data: 'binary <!DOCTYPE x>' }));
  });

  it('cannot hide behind a long comment', async () => {
    const data = `<!--${'x'.repeat(200_000)}--><!DOCTYPE a><a/>`;
    await expect(inspect(withPart({ name: 'a.xml', data }))).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });
});
