import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CursorKind, decodeCursor, encodeCursor } from './cursor.ts';

const KIND = {
  list: 'jobs',
  sort: 'newest',
  key: ['time', 'uuid', 'seq', 'word', 'text'],
} as const satisfies CursorKind;

const time = fc
  .tuple(
    fc.date({ min: new Date('1970-01-01'), max: new Date('2999-12-31'), noInvalidDate: true }),
    fc.nat({ max: 999 }),
  )
  .map(([date, micros]) => date.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`));
const key = fc.tuple(
  fc.oneof(time, fc.constant('infinity')),
  fc.uuid(),
  fc.maxSafeNat(),
  fc.stringMatching(/^[\w.]{1,30}$/),
  fc
    .string({ unit: 'binary', minLength: 1, maxLength: 200 })
    .filter((text) => text.isWellFormed() && !text.includes('\0')),
);

function reasonOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toMatchObject({ code: 'CURSOR_INVALID', status: 400 });
    return (error as Error).message;
  }
  return 'nothing was refused';
}

describe('a cursor', () => {
  it('survives a round trip, and needs no escaping in a URL', () => {
    fc.assert(
      fc.property(key, (given) => {
        const text = encodeCursor(KIND, given);
        expect(text).toMatch(/^[\w-]+$/);
        expect(decodeCursor(KIND, text)).toEqual(given);
      }),
    );
  });

  it('of another list, order or version is refused with the reason', () => {
    const given: [string, string, number, string, string] = [
      'infinity',
      crypto.randomUUID(),
      5,
      'audit',
      'a/b ü',
    ];
    const text = encodeCursor(KIND, given);
    expect(reasonOf(() => decodeCursor({ ...KIND, list: 'items' }, text))).toContain('another list');
    expect(reasonOf(() => decodeCursor({ ...KIND, sort: 'oldest' }, text))).toContain('the order newest');
    const later = Buffer.from(JSON.stringify([2, 'jobs', 'newest', ...given])).toString('base64url');
    expect(reasonOf(() => decodeCursor(KIND, later))).toContain('version 2');
  });

  it('that was modified is refused, or is a valid cursor of the same list', () => {
    fc.assert(
      fc.property(key, fc.nat(), fc.stringMatching(/^[\w-]$/), (given, place, sign) => {
        const text = encodeCursor(KIND, given);
        const at = place % text.length;
        const changed = text.slice(0, at) + sign + text.slice(at + 1);
        try {
          expect(encodeCursor(KIND, decodeCursor(KIND, changed)).length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toMatchObject({ code: 'CURSOR_INVALID' });
        }
      }),
    );
  });

  it('from any text is either accepted or refused', () => {
    const value = fc.oneof(
      fc.json(),
      fc.string(),
      fc.constantFrom('null', '1', '[1]', '[1,"jobs","newest"]'),
    );
    fc.assert(
      fc.property(value, fc.boolean(), (text, isEncoded) => {
        expect(
          reasonOf(() => decodeCursor(KIND, isEncoded ? Buffer.from(text).toString('base64url') : text)),
        ).toContain('expected the cursor');
      }),
    );
  });

  it.each([
    ['a day that does not exist', '2026-02-30T00:00:00.000000Z'],
    ['an hour that does not exist', '2026-02-03T25:00:00.000000Z'],
    ['negative infinity', '-infinity'],
  ])('with %s is damaged', (_, given) => {
    const kind = { ...KIND, key: ['time'] } as const;
    expect(reasonOf(() => decodeCursor(kind, encodeCursor(kind, [given])))).toContain('damaged');
  });

  it.each(['', 'a\0b', '\ud800', 'x'.repeat(1001), 1, null])('with the text %j is damaged', (given) => {
    const kind = { ...KIND, key: ['text'] } as const;
    expect(reasonOf(() => decodeCursor(kind, encodeCursor(kind, [given as string])))).toContain('damaged');
  });

  it.each([-1, 0.5, 2 ** 53, '1', null])('with the seq %s is damaged', (given) => {
    const kind = { ...KIND, key: ['seq'] } as const;
    expect(reasonOf(() => decodeCursor(kind, encodeCursor(kind, [given as number])))).toContain('damaged');
  });
});
