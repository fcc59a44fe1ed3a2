import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { type StorableJson, toStorableJson, toStorableText, type UnstorablePolicy } from './storable-json.ts';

const LIMIT = 1_048_576;
const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const anyJson = fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 });

function stored(value: unknown, policy: UnstorablePolicy = 'fail', maxBytes = LIMIT): StorableJson {
  return toStorableJson(value, maxBytes, policy);
}

function jsonOf(value: unknown, policy: UnstorablePolicy = 'fail'): string {
  const made = stored(value, policy);
  if (!made.ok) throw new Error(made.reason);
  return made.json;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? [value] : { a: value };
  return value;
}

const throwing = (): never => {
  throw new Error('trap');
};

describe('characters that jsonb does not accept', () => {
  it.each([
    ['NUL', 'a\0b', 'a\ufffdb'],
    ['the first half of a pair', 'a\ud83d', 'a\ufffd'],
    ['the second half of a pair', '\ude00a', '\ufffda'],
    ['the halves in the wrong order', '\ude00\ud83d', '\ufffd\ufffd'],
    ['NUL after a backslash', '\\\0', '\\\ufffd'],
    ['an emoji beside NUL', '😀\0', '😀\ufffd'],
  ])('make the item fail or are replaced: %s', (_, text, replaced) => {
    expect(stored({ text })).toEqual({
      ok: false,
      reason:
        'the result contains a NUL character or an unpaired surrogate; set unstorable: "replace" in the pipeline to replace them',
    });
    expect(JSON.parse(jsonOf({ text }, 'replace'))).toEqual({ text: replaced });
    expect(JSON.parse(jsonOf({ [text]: 1 }, 'replace'))).toEqual({ [replaced]: 1 });
    expect(stored({ text }, 'replace')).toMatchObject({ ok: true, replaced: true });
  });
});

describe('characters that jsonb accepts', () => {
  it.each([
    ['an emoji', '😀👩‍👩‍👧'],
    ['a backslash followed by u0000', '\\u0000'],
    ['two backslashes followed by ud800', '\\\\ud800'],
    ['control characters', '\u0001\u001f\t\n\r\b\f'],
    ['the other escapes', '"/\\'],
    ['line separators', '\u2028\u2029'],
    ['a replacement character', '\ufffd'],
  ])('stay unchanged: %s', (_, text) => {
    const made = stored({ text });
    expect(made).toMatchObject({ ok: true, replaced: false, json: JSON.stringify({ text }) });
  });
});

describe('any value', () => {
  it('without such characters is stored as JSON.stringify writes it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme-composite', maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        const clean = !text.includes('\\u0000');
        if (clean)
          expect(stored(value)).toEqual({
            ok: true,
            json: text,
            replaced: false,
          });
      }),
    );
  });

  it('is stored without other changes when characters are replaced', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(JSON.parse(jsonOf([text], 'replace'))).toEqual([
          text.toWellFormed().replaceAll('\0', '\ufffd'),
        ]);
      }),
    );
  });
});

describe('a value that is not JSON', () => {
  it.each<[string, unknown, string]>([
    ['a bigint', { n: 1n }, 'the result is not JSON: Do not know how to serialize a BigInt'],
    ['a function', () => 1, 'the result is not JSON: a function has no JSON form'],
    ['a symbol', Symbol('x'), 'the result is not JSON: a symbol has no JSON form'],
    ['toJSON that throws', { toJSON: throwing }, 'the result is not JSON: trap'],
  ])('is refused with the reason: %s', (_, value, reason) => {
    expect(stored(value)).toEqual({ ok: false, reason });
  });

  it('is refused in one line if it is circular', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(stored(circular)).toEqual({
      ok: false,
      reason: 'the result is not JSON: Converting circular structure to JSON',
    });
  });

  it.each<[string, () => never]>([
    [
      'null',
      () => {
        throw null;
      },
    ],
  ])('is refused even when its toJSON throws %s', (_, toJSON) => {
    expect(stored({ toJSON })).toMatchObject({ ok: false });
  });

  it.each<[string, () => never]>([
    [
      'an error whose message is not text',
      () => {
        throw Object.defineProperty(new Error('x'), 'message', { value: 5 });
      },
    ],
    [
      'an error whose message cannot be read',
      () => {
        throw Object.defineProperty(new Error('x'), 'message', { get: throwing });
      },
    ],
    [
      'a proxy that throws',
      () => {
        throw new Proxy({}, { getPrototypeOf: throwing, get: throwing });
      },
    ],
  ])('is refused even when its toJSON throws %s', (_, toJSON) => {
    expect(stored({ toJSON })).toMatchObject({ ok: false });
  });

  it('gives a reason that fits a text column, whatever its toJSON throws', () => {
    const made = stored({
      toJSON: () => {
        throw new Error(`a\0b\ud83d${'x'.repeat(100_000)}`);
      },
    });
    if (made.ok) throw new Error('expected a refusal');
    expect(made.reason).toBe(toStorableText(made.reason, 9000));
  });

  it('is stored as null if it is undefined', () => {
    expect(jsonOf(undefined)).toBe('null');
  });
});

describe('the limits', () => {
  it('count bytes, not characters', () => {
    expect(stored('ä'.repeat(49), 'fail', 100)).toMatchObject({ ok: true });
    expect(stored(`${'ä'.repeat(49)}x`, 'fail', 100)).toEqual({
      ok: false,
      reason: 'the result has 101 bytes of JSON, more than the limit of 100',
    });
    expect(stored('x'.repeat(98), 'fail', 100).ok).toBe(true);
    expect(stored('x'.repeat(99), 'fail', 100).ok).toBe(false);
  });

  it('count the stored bytes, after characters were replaced', () => {
    const made = stored('\0'.repeat(10), 'replace', 32);
    expect(made).toMatchObject({ ok: true });
    expect(stored('\0'.repeat(10), 'replace', 31).ok).toBe(false);
  });

  it('allow a depth of exactly 1000', () => {
    expect(stored(nested(1000)).ok).toBe(true);
    expect(stored(nested(1001))).toEqual({
      ok: false,
      reason: 'the result is nested deeper than 1000 levels',
    });
    expect(stored(nested(100_000)).ok).toBe(false);
  });

  it('are not deceived by brackets inside strings', () => {
    expect(stored(['['.repeat(5000), '\\"['.repeat(5000)]).ok).toBe(true);
  });
});

describe('text for a text column', () => {
  it('is well formed, without NUL and bounded', () => {
    fc.assert(
      fc.property(anyText, fc.nat({ max: 40 }), (text, maxLength) => {
        const made = toStorableText(text, maxLength);
        expect(made.isWellFormed()).toBe(true);
        expect(made).not.toContain('\0');
        expect(made.length).toBeLessThanOrEqual(maxLength + 30);
        if (text.length <= maxLength && text.isWellFormed() && !text.includes('\0')) expect(made).toBe(text);
      }),
    );
  });
});

describe('PostgreSQL', () => {
  const database = useTestDatabase();

  it('accepts everything that is called storable, and returns the same value', async () => {
    database.keepIfFailed();
    await fc.assert(
      fc.asyncProperty(fc.array(anyJson, { minLength: 1, maxLength: 50 }), async (values) => {
        const texts = values.map((value) => jsonOf(value, 'replace'));
        const rows = await database.query<{ same: boolean; back: unknown }>(
          'select t::jsonb as back from unnest($1::text[]) with ordinality as u(t, n) order by n',
          [texts],
        );
        // Compared after another round trip through text: jsonb drops the sign of -0 and orders keys.
        expect(rows.map((row) => row.back)).toEqual(
          texts.map((text) => JSON.parse(text.replaceAll(/(?<![\d.eE])-0(?=[,\]}]|$)/g, '0'))),
        );
      }),
      { numRuns: 40 },
    );
  });

  it('accepts the deepest allowed value', async () => {
    expect(
      await database.query('select 1 as ok where $1::jsonb is not null', [jsonOf(nested(1000))]),
    ).toEqual([{ ok: 1 }]);
  });

  it('refuses everything that is called unstorable', async () => {
    for (const text of ['\0', '\ud83d']) {
      expect(stored(text).ok).toBe(false);
      await expect(database.query('select $1::jsonb', [JSON.stringify(text)])).rejects.toMatchObject({
        code: expect.stringMatching(/^22/),
      });
    }
  });
});
