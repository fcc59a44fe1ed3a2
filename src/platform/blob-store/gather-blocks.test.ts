import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gatherBlocks } from './gather-blocks.ts';

describe('gathering blocks', () => {
  it('keeps all bytes in order in full blocks, for chunks of any size', async () => {
    const chunked = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        chunked,
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
        async (chunks, sizes) => {
          async function* source() {
            const reused = Buffer.alloc(50);
            for (const chunk of chunks) {
              reused.set(chunk);
              yield reused.subarray(0, chunk.length);
            }
          }
          const sizeOf = (index: number): number => sizes[index % sizes.length]!;
          const seen: Uint8Array[] = [];
          const blocks: Buffer[] = [];
          for await (const block of gatherBlocks(source(), sizeOf, (bytes) =>
            seen.push(Buffer.from(bytes)),
          )) {
            expect(Buffer.concat(seen).equals(block)).toBe(true);
            seen.length = 0;
            blocks.push(block);
          }
          expect(Buffer.concat(blocks).equals(Buffer.concat(chunks))).toBe(true);
          blocks.slice(0, -1).forEach((block, index) => {
            expect(block).toHaveLength(sizeOf(index));
          });
          for (const block of blocks) expect(block.length).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('keeps the bytes of a first block that grows', async () => {
    const bytes = randomBytes(1_000_000);
    async function* source() {
      for (let at = 0; at < bytes.length; at += 999) yield bytes.subarray(at, at + 999);
    }
    const blocks: Buffer[] = [];
    for await (const block of gatherBlocks(source(), () => 600_000)) blocks.push(block);
    expect(blocks.map((block) => block.length)).toEqual([600_000, 400_000]);
    expect(Buffer.concat(blocks).equals(bytes)).toBe(true);
  });
});
