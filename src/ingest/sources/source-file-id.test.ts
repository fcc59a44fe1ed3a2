import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fingerprintOf, heldName, isOfSource, parseHeldName, sourceFileId } from './source-file-id.ts';

const fingerprint = fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), {
  minLength: 1,
  maxLength: 4,
});
const name = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 300 })
  .filter((text) => text.isWellFormed());

it('encodes the id in the name of a held file, and the fingerprint in the id', () => {
  fc.assert(
    fc.property(name, fingerprint, (path, parts) => {
      const fileId = sourceFileId('in', path, parts);
      const held = heldName(fileId, path);
      expect(Buffer.byteLength(held)).toBeLessThanOrEqual(255);
      const parsed = parseHeldName(held)!;
      expect(parsed.fileId).toBe(fileId);
      expect(isOfSource(fileId, 'in')).toBe(true);
      expect(isOfSource(fileId, 'out')).toBe(false);
      expect(path.endsWith(parsed.name)).toBe(true);
      expect(fingerprintOf(parsed.fileId)).toEqual(parts);
      // The parsed parts give the same name again, even if it was cut.
      expect(heldName(parsed.fileId, parsed.name)).toBe(held);
    }),
  );
});

it('gives another path or fingerprint another id', () => {
  const ids = [
    sourceFileId('in', 'a', [1n, 2n]),
    sourceFileId('in', 'b', [1n, 2n]),
    sourceFileId('in', 'a', [1n, 3n]),
    sourceFileId('in', 'a', [12n]),
    sourceFileId('in', 'a', [1n, -2n]),
    sourceFileId('out', 'a', [1n, 2n]),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

it('does not mistake other names for held files', () => {
  for (const other of ['', 'a.csv', 'x.y-a.csv', '1.0123456789abcdef', '1.0123456789abcdef-', '.clock']) {
    expect(parseHeldName(other)).toBeNull();
  }
});
