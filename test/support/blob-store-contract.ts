// The contract of every blob store, as tests: the file system, the S3 stub and a real S3 server run the same ones.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { buffer as readAll } from 'node:stream/consumers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BlobInfo, BlobStore } from '../../src/platform/blob-store/blob-store.ts';

const MIB = 1024 * 1024;
// Everything is older than a minute from now.
const ANY_AGE = -60_000;

export async function* inChunks(bytes: Buffer, chunkBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export async function readBlob(store: BlobStore, key: string): Promise<Buffer> {
  return readAll(await store.get(key));
}

async function listAll(store: BlobStore, prefix: string): Promise<BlobInfo[]> {
  const found: BlobInfo[] = [];
  for await (const info of store.list(prefix)) found.push(info);
  return found;
}

/** `open` returns an empty store each time. */
export function testBlobStore(name: string, open: () => Promise<BlobStore>): void {
  describe(`the blob store on ${name}`, () => {
    let store: BlobStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    const keysOf = async (prefix: string): Promise<string[]> =>
      (await listAll(store, prefix)).map((info) => info.key);
    async function expectNothingLeft(): Promise<void> {
      expect(await keysOf('')).toEqual([]);
      expect(await store.collectLeftovers(ANY_AGE)).toBe(0);
    }

    it('returns the bytes put, with length and hash, for any chunking', async () => {
      const chunked = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 30 });
      await fc.assert(
        fc.asyncProperty(chunked, async (chunks) => {
          const bytes = Buffer.concat(chunks);
          async function* source() {
            // Reuses the same memory, like a careful file reader.
            const reused = Buffer.alloc(3000);
            for (const chunk of chunks) {
              reused.set(chunk);
              yield reused.subarray(0, chunk.length);
            }
          }
          const blob = await store.put('outputs/a/g1/results.csv', source());
          expect(blob).toEqual({
            key: 'outputs/a/g1/results.csv',
            bytes: bytes.length,
            sha256: sha256Of(bytes),
          });
          expect((await readBlob(store, blob.key)).equals(bytes)).toBe(true);
        }),
        { numRuns: 20 },
      );
    });

    it.each([8 * MIB - 1, 8 * MIB, 20 * MIB + 7])('keeps a blob of %d bytes unchanged', async (length) => {
      const bytes = randomBytes(length);
      const blob = await store.put('outputs/large.csv', inChunks(bytes));
      expect(blob).toEqual({ key: 'outputs/large.csv', bytes: length, sha256: sha256Of(bytes) });
      expect((await readBlob(store, blob.key)).equals(bytes)).toBe(true);
      await store.verify(blob);
      expect(await store.head(blob.key)).toMatchObject({ key: blob.key, bytes: length });
      expect(await store.collectLeftovers(ANY_AGE)).toBe(0);
    });

    it.each([0, 1000, 17 * MIB])('names a blob of %d bytes after its hash', async (length) => {
      const bytes = randomBytes(length);
      const key = `files/${sha256Of(bytes)}`;
      const first = await store.putByHash('files/', inChunks(bytes));
      const { modifiedAt } = (await store.head(key))!;
      expect(first).toEqual({ key, bytes: length, sha256: sha256Of(bytes) });
      await store.verify(first);
      expect((await readBlob(store, key)).equals(bytes)).toBe(true);

      // S3 times are whole seconds.
      let again = await store.putByHash('files/', inChunks(bytes));
      while ((await store.head(key))!.modifiedAt <= modifiedAt) {
        again = await store.putByHash('files/', inChunks(bytes));
      }
      expect(again).toEqual(first);
      expect(await keysOf('')).toEqual([key]);
      expect(await store.collectLeftovers(ANY_AGE)).toBe(0);
    });

    it('returns any range of a blob, and nothing past its end', async () => {
      const bytes = randomBytes(1000);
      await store.put('a', inChunks(bytes));
      const edge = fc.option(fc.oneof(fc.nat(1200), fc.constantFrom(0, 999, 1000, 1001)), { nil: undefined });
      await fc.assert(
        fc.asyncProperty(edge, edge, async (start, end) => {
          const range = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
          const expected =
            end !== undefined && end < (start ?? 0) ? Buffer.alloc(0) : bytes.subarray(start, end);
          expect((await readAll(await store.get('a', range))).equals(expected)).toBe(true);
        }),
        { numRuns: 60 },
      );
      await store.put('empty', inChunks(Buffer.alloc(0)));
      expect(await readAll(await store.get('empty', { start: 0, end: 10 }))).toHaveLength(0);
    });

    it('reports a missing blob', async () => {
      const missing = { code: 'BLOB_NOT_FOUND' };
      await expect(store.get('files/none')).rejects.toMatchObject(missing);
      await expect(store.get('files/none', { start: 5, end: 5 })).rejects.toMatchObject(missing);
      await expect(store.verify({ key: 'files/none', bytes: 0, sha256: '' })).rejects.toMatchObject(missing);
      await expect(store.withLocalFile('files/none', async () => {})).rejects.toMatchObject(missing);
      expect(await store.head('files/none')).toBeNull();
      await store.delete('files/none');
    });

    it('does not mistake a folder for a blob', async () => {
      await store.put('files/a/b', inChunks(Buffer.from('x')));
      expect(await store.head('files/a')).toBeNull();
      await expect(store.get('files/a')).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
      await expect(store.get('files/a/b/c')).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
      await store.delete('files/a');
      await store.delete('files/a/b/c');
      expect(await keysOf('')).toEqual(['files/a/b']);
    });

    it.each([100, 12 * MIB])('leaves nothing of a source that fails after %d bytes', async (length) => {
      const failure = Object.assign(new Error('the source is broken'), { code: 'ENOSPC', syscall: 'read' });
      async function* source() {
        yield* inChunks(randomBytes(length));
        throw failure;
      }
      await expect(store.put('a', source())).rejects.toBe(failure);
      await expect(store.putByHash('files/', source())).rejects.toBe(failure);
      await expectNothingLeft();
    });

    it('keeps the previous blob if overwriting it fails', async () => {
      await store.put('a', inChunks(Buffer.from('before')));
      // biome-ignore lint/correctness/useYield: it fails before its first chunk
      async function* source(): AsyncGenerator<Uint8Array> {
        throw new Error('the source is broken');
      }
      await expect(store.put('a', source())).rejects.toThrow('the source is broken');
      expect((await readBlob(store, 'a')).toString()).toBe('before');
      await store.put('a', inChunks(Buffer.from('after')));
      expect((await readBlob(store, 'a')).toString()).toBe('after');
    });

    it.each([999, 10 * MIB])('refuses more than %d bytes if that is the limit', async (maxBytes) => {
      const options = { maxBytes, limitName: 'uploadMaxBytes' };
      let taken = 0;
      async function* endless() {
        for (;;) {
          taken += 500;
          yield Buffer.alloc(500);
        }
      }
      const refusal = { code: 'FILE_TOO_LARGE', message: expect.stringContaining('uploadMaxBytes') };
      await expect(store.put('a', endless(), options)).rejects.toMatchObject(refusal);
      expect(taken).toBeLessThanOrEqual(maxBytes + 500);
      await expect(store.putByHash('files/', endless(), options)).rejects.toMatchObject(refusal);
      await expectNothingLeft();
      expect((await store.put('a', inChunks(Buffer.alloc(maxBytes)), options)).bytes).toBe(maxBytes);
    });

    it.each([100, 12 * MIB])('stops a write immediately if it is aborted after %d bytes', async (length) => {
      const reason = new Error('the client went away');
      const abort = new AbortController();
      let returned = false;
      const bytes = inChunks(randomBytes(length));
      const hanging: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => ({
          async next() {
            const result = await bytes.next();
            if (!result.done) return result;
            abort.abort(reason);
            return new Promise(() => {});
          },
          async return() {
            returned = true;
            return { done: true, value: undefined };
          },
        }),
      };
      await expect(store.put('a', hanging, { signal: abort.signal })).rejects.toBe(reason);
      expect(returned).toBe(true);
      await expect(store.put('a', inChunks(Buffer.alloc(5)), { signal: abort.signal })).rejects.toBe(reason);
      await expectNothingLeft();
    });

    it('closes a source stream that it does not read to its end', async () => {
      const abort = new AbortController();
      const idle = new PassThrough();
      idle.write('bytes');
      const writing = store.put('a', idle, { signal: abort.signal });
      abort.abort(new Error('the client went away'));
      await expect(writing).rejects.toThrow('the client went away');
      expect(idle.destroyed).toBe(true);

      const unread = new PassThrough();
      await expect(store.put('a', unread, { signal: abort.signal })).rejects.toThrow('the client went away');
      expect(unread.destroyed).toBe(true);
      const long = new PassThrough();
      long.write('bytes');
      await expect(store.putByHash('files/', long, { maxBytes: 4 })).rejects.toMatchObject({
        code: 'FILE_TOO_LARGE',
      });
      expect(long.destroyed).toBe(true);
    });

    it('lists keys in the order of their bytes, below a prefix', async () => {
      const keys = [
        'files/0',
        'files/a-b/c',
        'files/a.csv',
        'files/a/1',
        'files/a/2',
        'files/b',
        'outputs/j/g1/x',
      ];
      for (const key of [...keys].reverse()) await store.put(key, inChunks(Buffer.from(key)));
      const listed = await listAll(store, '');
      expect(listed.map((info) => info.key)).toEqual([...keys].sort());
      for (const info of listed) expect(info).toMatchObject({ bytes: info.key.length });
      expect(await keysOf('files/')).toEqual(keys.slice(0, 6));
      expect(await keysOf('files/a')).toEqual(keys.slice(1, 5));
      expect(await keysOf('files/a/')).toEqual(['files/a/1', 'files/a/2']);
      expect(await keysOf('files/a/2')).toEqual(['files/a/2']);
      expect(await keysOf('files/c')).toEqual([]);
    });

    it('shows no blob before it is completely written', async () => {
      async function* source() {
        yield* inChunks(randomBytes(9 * MIB));
        expect(await keysOf('')).toEqual([]);
        expect(await store.head('a')).toBeNull();
      }
      await store.put('a', source());
      await store.delete('a');
      await store.putByHash('files/', source());
    });

    it('stores one complete blob for concurrent writes to the same key', async () => {
      const contents = Array.from({ length: 6 }, (_, i) => Buffer.alloc(200_000 + i, i));
      await Promise.all(contents.map((bytes) => store.put('a', inChunks(bytes, 1000))));
      const seen = await readBlob(store, 'a');
      expect(contents.some((bytes) => bytes.equals(seen))).toBe(true);
      expect(await store.collectLeftovers(ANY_AGE)).toBe(0);
    });

    it('allows concurrent writes and deletes of neighbours', async () => {
      await Promise.all(
        Array.from({ length: 4 }, async (_, worker) => {
          for (let round = 0; round < 15; round += 1) {
            const key = `outputs/job/g1/${worker}`;
            await store.put(key, inChunks(Buffer.from(key)));
            expect((await readBlob(store, key)).toString()).toBe(key);
            await store.delete(key);
          }
        }),
      );
      await expectNothingLeft();
    });

    it('detects a blob that differs from the one written', async () => {
      const bytes = Buffer.from('bytes');
      const blob = await store.put('a', inChunks(bytes));
      await store.verify(blob);
      const corrupt = { code: 'BLOB_CORRUPT' };
      await expect(store.verify({ ...blob, sha256: sha256Of(Buffer.from('other')) })).rejects.toMatchObject(
        corrupt,
      );
      await expect(store.verify({ ...blob, bytes: 6 })).rejects.toMatchObject(corrupt);
      await store.put('a', inChunks(Buffer.from('Bytes')));
      await expect(store.verify(blob)).rejects.toMatchObject(corrupt);
    });

    it('provides a blob as a local file that only its owner can read', async () => {
      const bytes = randomBytes(100_000);
      await store.put('a', inChunks(bytes));
      const length = await store.withLocalFile('a', async (path) => {
        expect((await readFile(path)).equals(bytes)).toBe(true);
        const { size, mode } = await stat(path);
        if (process.platform !== 'win32') expect(mode & 0o777).toBe(0o600);
        return size;
      });
      expect(length).toBe(100_000);
      let seen = '';
      const work = async (path: string) => {
        seen = path;
        throw new Error('the work is broken');
      };
      await expect(store.withLocalFile('a', work)).rejects.toThrow('the work is broken');
      if (seen.includes('rowmill-blob-')) expect(existsSync(seen)).toBe(false);
      expect(await store.head('a')).not.toBeNull();
    });

    it('closes a blob stream that is not read to its end', async () => {
      await store.put('a', inChunks(randomBytes(5 * MIB)));
      for await (const chunk of await store.get('a')) {
        expect((chunk as Buffer).length).toBeGreaterThan(0);
        break;
      }
      (await store.get('a')).destroy();
      await store.delete('a');
      expect(await store.head('a')).toBeNull();
    });

    const wrongKeys = [
      '',
      '/a',
      'a/',
      'a//b',
      '..',
      'a/../b',
      './a',
      '.staging/a',
      'a/.b',
      'a b',
      'ä',
      'a\\b',
      'a\0b',
      'C:a',
      'a\n',
    ];
    it.each([...wrongKeys, `${'a/'.repeat(450)}a`, 'a'.repeat(201)])('refuses the key %j', async (key) => {
      const refusal = /expected a blob key/;
      await expect(store.put(key, inChunks(Buffer.from('x')))).rejects.toThrow(refusal);
      await expect(store.get(key)).rejects.toThrow(refusal);
      await expect(store.head(key)).rejects.toThrow(refusal);
      await expect(store.delete(key)).rejects.toThrow(refusal);
      await expect(store.verify({ key, bytes: 0, sha256: '' })).rejects.toThrow(refusal);
      await expect(store.withLocalFile(key, async () => {})).rejects.toThrow(refusal);
    });

    it('refuses invalid prefixes and ranges', async () => {
      for (const prefix of ['../', '/', 'a//', '.']) {
        await expect(store.putByHash(prefix, inChunks(Buffer.from('x')))).rejects.toThrow(
          /expected a blob key/,
        );
        await expect(listAll(store, prefix)).rejects.toThrow(/expected a blob key/);
      }
      await store.put('a', inChunks(Buffer.from('x')));
      for (const range of [{ start: -1 }, { end: 1.5 }, { start: Number.NaN }]) {
        await expect(store.get('a', range)).rejects.toThrow(/expected (start|end) of a range/);
      }
    });
  });
}
