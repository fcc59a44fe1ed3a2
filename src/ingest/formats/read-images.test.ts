import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { allRows, shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import { gif, jpeg, png } from '../../../test/support/image-writer.ts';
import { deflatedZeros, writeZip } from '../../../test/support/zip-writer.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { BlobStore } from '../../platform/blob-store/blob-store.ts';
import { describeImage } from './image-manifest.ts';
import {
  type ImageFile,
  imagesOfZip,
  type KeepImage,
  openImageManifest,
  storeImageSet,
} from './read-images.ts';

const files = useTestFiles();
const limits = shippedLimits();

/** Keeps blobs in a map: the part of a store that storeImageSet needs. */
function memoryStore(fail?: Error): { store: BlobStore; blobs: Map<string, Buffer> } {
  const blobs = new Map<string, Buffer>();
  const store: Partial<BlobStore> = {
    description: 'memory',
    async putByHash(prefix, source) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of source) chunks.push(chunk);
      if (fail) throw fail;
      const bytes = Buffer.concat(chunks);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      blobs.set(`${prefix}${sha256}`, bytes);
      return { key: `${prefix}${sha256}`, bytes: bytes.length, sha256 };
    },
  };
  return { store: store as BlobStore, blobs };
}

function keepIn(store: BlobStore): KeepImage {
  return async (bytes) => (await store.putByHash('images/', Readable.from([bytes]))).key;
}

async function* filesOf(contents: Record<string, Buffer | string>): AsyncGenerator<ImageFile> {
  for (const [name, content] of Object.entries(contents)) {
    yield { name, open: () => Readable.from([Buffer.from(content)]) };
  }
}

async function manifestOf(set: AsyncIterable<ImageFile>, store: BlobStore, changed = {}): Promise<string> {
  const lines: Buffer[] = [];
  for await (const line of storeImageSet(set, keepIn(store), { ...limits, ...changed })) lines.push(line);
  return Buffer.concat(lines).toString();
}

function keyOf(bytes: Buffer): string {
  return `images/${createHash('sha256').update(bytes).digest('hex')}`;
}

describe('an image is described', () => {
  it('in the same way from bytes and from a file', async () => {
    const bytes = png(3, 4);
    const expected = {
      ok: true,
      image: {
        name: 'x.txt',
        type: 'png',
        bytes: bytes.length,
        width: 3,
        height: 4,
        sha256: keyOf(bytes).slice(7),
      },
    };
    expect(await describeImage(bytes, 'x.txt', limits)).toEqual(expected);
    expect(await describeImage(files.write(bytes), 'x.txt', limits)).toEqual(expected);
  });

  it.each<[string, Buffer, object, string]>([
    ['of 50,000 x 50,000 pixels', png(50_000, 50_000), {}, 'imageMaxPixels'],
    ['of one pixel too many', png(10, 11), { imageMaxPixels: 109 }, 'imageMaxPixels'],
    ['of one byte too many', png(1, 1), { imageMaxBytes: png(1, 1).length - 1 }, 'imageMaxBytes'],
    ['that is empty', Buffer.alloc(0), {}, 'empty'],
    ['without size', png(0, 5), {}, 'no size'],
    ['that is a truncated JPEG', jpeg(10, 10).subarray(0, -2), {}, 'cut off'],
    ['that is an SVG with a script', Buffer.from('<svg><script>alert(1)</script></svg>'), {}, 'SVG'],
    [
      'that is an SVG behind an XML head',
      Buffer.from('<?xml version="1.0"?>\n<!-- x -->\n<svg/>'),
      {},
      'SVG',
    ],
    ['that is text', Buffer.from('hello'), {}, 'not a PNG'],
    ['that is HTML', Buffer.from('<html>'), {}, 'not a PNG'],
  ])('or rejected: one %s', async (_, bytes, changed, reason) => {
    expect(await describeImage(bytes, 'x', { ...limits, ...changed })).toEqual({
      ok: false,
      reason: expect.stringContaining(reason),
    });
    expect(await describeImage(files.write(bytes), 'x', { ...limits, ...changed })).toMatchObject({
      ok: false,
    });
  });

  it('if it has exactly the allowed pixels and bytes', async () => {
    const bytes = png(10, 11);
    const exact = { imageMaxPixels: 110, imageMaxBytes: bytes.length };
    expect(await describeImage(bytes, 'x', exact)).toMatchObject({ ok: true });
  });
});

describe('a set of images', () => {
  it('is stored, and its manifest read back as rows', async () => {
    const { store, blobs } = memoryStore();
    const set = {
      'a/1.png': png(3, 4),
      'ä\n".jpg': jpeg(5, 6),
      'readme.txt': 'hello',
      'copy.png': png(3, 4),
    };
    const manifest = await manifestOf(filesOf(set), store);
    expect(manifest.split('\n')[0]).toBe('{"rowmill":"images","version":1}');
    expect([...blobs.keys()].sort()).toEqual([keyOf(png(3, 4)), keyOf(jpeg(5, 6))].sort());
    const reader = await openImageManifest(files.write(manifest), limits);
    expect(reader.headers).toEqual(['file', 'type', 'bytes', 'width', 'height', 'blob']);
    expect(reader.detected).toEqual({ format: 'images', encoding: 'utf-8', warnings: [] });
    const bytes = String(png(3, 4).length);
    expect(await allRows(reader)).toEqual([
      { kind: 'cells', line: 2, cells: ['a/1.png', 'png', bytes, '3', '4', keyOf(png(3, 4))], repair: null },
      {
        kind: 'cells',
        line: 3,
        cells: ['ä\n".jpg', 'jpeg', String(jpeg(5, 6).length), '5', '6', keyOf(jpeg(5, 6))],
        repair: null,
      },
      { kind: 'rejected', line: 4, raw: 'readme.txt', reason: expect.stringContaining('not a PNG') },
      { kind: 'cells', line: 5, cells: ['copy.png', 'png', bytes, '3', '4', keyOf(png(3, 4))], repair: null },
    ]);
  });

  it('keeps its order, whatever its size', async () => {
    const { store } = memoryStore();
    const names = Array.from({ length: 50 }, (_, i) => `${i}.gif`);
    const set = filesOf(Object.fromEntries(names.map((name, i) => [name, gif(i + 1, 1)])));
    const manifest = await manifestOf(set, store);
    expect(
      manifest
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line).file),
    ).toEqual(names);
  });

  it('does not read more of a file than imageMaxBytes', async () => {
    let given = 0;
    async function* endless() {
      for (;;) {
        given += 1;
        yield Buffer.alloc(1000);
      }
    }
    async function* set(): AsyncGenerator<ImageFile> {
      yield { name: 'endless', open: endless };
    }
    const manifest = await manifestOf(set(), memoryStore().store, { imageMaxBytes: 5000 });
    expect(manifest).toContain(
      '{"file":"endless","rejected":"the image has more than 5000 bytes (imageMaxBytes)"}',
    );
    expect(given).toBe(6);
  });

  it('fails if the store fails', async () => {
    const failing = memoryStore(new RowmillError('BLOB_STORE_UNAVAILABLE', 'down'));
    const set = filesOf({ a: png(1, 1), b: png(1, 2), c: png(1, 3) });
    await expect(manifestOf(set, failing.store)).rejects.toMatchObject({ code: 'BLOB_STORE_UNAVAILABLE' });
  });
});

describe('a manifest', () => {
  it.each([
    [
      '{"file":"x","type":"png","bytes":1,"width":1,"height":1,"blob":"uploads/secret"}',
      'the key of a stored image',
    ],
    [
      `{"file":"x","type":"png","bytes":1,"width":1,"height":1,"blob":"images/../${'a'.repeat(64)}"}`,
      'the key',
    ],
    [
      `{"file":"x","type":"png","bytes":"1","width":1,"height":1,"blob":"images/${'a'.repeat(64)}"}`,
      'expected a line',
    ],
    ['{"type":"png"}', 'expected a line'],
    ['null', 'expected a line'],
    ['nonsense', 'expected a line'],
  ])('that is handwritten reaches no blob: %s', async (line, reason) => {
    const path = files.write(`{"rowmill":"images","version":1}\n${line}\n`);
    expect(await allRows(await openImageManifest(path, limits))).toEqual([
      { kind: 'rejected', line: 2, raw: line, reason: expect.stringContaining(reason) },
    ]);
  });
});

describe('a zip of images', () => {
  it('yields its files, but not those that operating systems add', async () => {
    const zip = writeZip([
      { name: 'photos/', data: '', store: true },
      { name: 'photos/../../a.png', data: png(1, 2) },
      { name: '__MACOSX/photos/._a.png', data: 'x' },
      { name: 'photos/.DS_Store', data: 'x' },
      { name: 'photos/Thumbs.db', data: 'x' },
      { name: 'photos/b.png', data: png(3, 4), store: true },
    ]);
    const { store } = memoryStore();
    const manifest = await manifestOf(imagesOfZip(files.write(zip), limits), store);
    expect(
      manifest
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { file: 'photos/../../a.png', width: 1, height: 2 },
      { file: 'photos/b.png', width: 3, height: 4 },
    ]);
  });

  it('rejects an image whose entry is damaged, and continues', async () => {
    const zip = writeZip([
      { name: 'a.png', data: png(1, 2), checksum: 1 },
      { name: 'b.png', data: png(1, 2), encrypted: true },
      { name: 'c.png', data: png(1, 2) },
    ]);
    const manifest = await manifestOf(imagesOfZip(files.write(zip), limits), memoryStore().store);
    expect(
      manifest
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { file: 'a.png', rejected: expect.stringContaining('checksum') },
      { file: 'b.png', rejected: expect.stringContaining('encrypted') },
      { file: 'c.png', width: 1 },
    ]);
  });

  it('that is a bomb is refused', async () => {
    const zip = writeZip([{ name: 'a.png', deflated: deflatedZeros(100), size: 100 * 1024 * 1024 }]);
    await expect(
      manifestOf(imagesOfZip(files.write(zip), limits), memoryStore().store),
    ).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
    });
  });
});
