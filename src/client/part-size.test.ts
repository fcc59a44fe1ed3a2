import { expect, it } from 'vitest';
import { FIRST_PART, type PartSize, sizeAfterPart } from './part-size.ts';

const MIB = 1_048_576;

function after(fileBytes: number, parts: readonly boolean[], from: PartSize = FIRST_PART): PartSize {
  return parts.reduce((size, arrived) => sizeAfterPart(size, fileBytes, arrived), from);
}

it('stays at a mebibyte for a small file, and grows with the parts of a large one', () => {
  expect(after(50 * MIB, [true, true, true]).bytes).toBe(MIB);
  expect(after(1e12, [true, true]).bytes).toBeGreaterThanOrEqual(4 * MIB);
  expect(
    after(
      1e10,
      Array.from({ length: 50 }, () => true),
    ).bytes,
  ).toBe(Math.ceil(1e10 / 1000));
});

it('halves after a broken part, and doubles again only after a series of parts that arrived', () => {
  const cut = after(50 * MIB, [false, false]);
  expect(cut.bytes).toBe(MIB / 4);
  expect(after(50 * MIB, [true, true, true, true, true, true, true], cut).bytes).toBe(MIB / 4);
  expect(after(50 * MIB, [true, true, true, true, true, true, true, true], cut).bytes).toBe(MIB / 2);
});

it('never needs more parts than a server accepts, however often parts break', () => {
  for (const fileBytes of [MIB, 1e9, 1e11, 5e11]) {
    const { bytes } = after(
      fileBytes,
      Array.from({ length: 40 }, () => false),
    );
    expect(fileBytes / bytes).toBeLessThanOrEqual(10_000);
    expect(bytes).toBeLessThanOrEqual(67_108_864);
  }
});
