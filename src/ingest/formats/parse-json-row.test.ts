import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shippedLimits } from '../../../test/support/file-rows.ts';
import { parseJsonRow } from './parse-json-row.ts';

const limits = shippedLimits();

function parse(text: string) {
  const row = parseJsonRow(text, limits);
  if (!row.ok) throw new Error(row.reason);
  return row;
}

describe('a number that a double can hold', () => {
  it.each([
    '0',
    '-1',
    '9007199254740991',
    '-9007199254740991',
    '0.1',
    '0.10000000000000001',
    '1.7976931348623157e308',
    '5e-324',
    '1E5',
    '-0',
    '1e20',
    '1e0000',
    '0e999',
    '0.000000000000000000000001',
  ])('stays a number: %s', (number) => {
    const { object, repair } = parse(`{"a":${number},"b":[${number}]}`);
    expect(object).toEqual({ a: Number(number), b: [Number(number)] });
    expect(repair).toBeNull();
  });
});

describe('a number that a double cannot hold', () => {
  it.each([
    '9007199254740993',
    '9007199254740992',
    '-9007199254740993',
    '12345678901234567',
    '123456789012345678901234567890',
    '3.14159265358979323846',
    '123456789.123456789012',
    '1e400',
    '-1e999',
    '1e-400',
  ])('is kept as text, with a note: %s', (number) => {
    const { object, repair } = parse(`{"a":${number},"deep":{"b":[1,${number}]}}`);
    expect(object).toEqual({ a: number, deep: { b: [1, number] } });
    expect(repair).toContain('2 numbers');
  });

  it('is detected only outside strings', () => {
    const text = String.raw`{"a":"12345678901234567","b":"\"12345678901234567","c\\":"x 1e400","d":98765432109876543}`;
    const { object, repair } = parse(text);
    expect(object).toEqual({ ...JSON.parse(text), d: '98765432109876543' });
    expect(repair).toContain('a number');
  });

  it('is found at any position, even if it is as short as possible', () => {
    for (const number of ['9007199254740993', '1234567890123456789']) {
      for (let blanks = 0; blanks < 40; blanks += 1) {
        const { object } = parse(`{${' '.repeat(blanks)}"a":${number}}`);
        expect(object).toEqual({ a: number });
      }
    }
  });
});

describe('an object', () => {
  it('keeps hostile keys as own properties, and nothing else changes', () => {
    const { object } = parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3}');
    expect(Object.keys(object)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('keeps them when numbers are kept as text, too', () => {
    const { object } = parse('{"__proto__":12345678901234567890,"constructor":{"prototype":1}}');
    expect(Object.entries(object)).toEqual([
      ['__proto__', '12345678901234567890'],
      ['constructor', { prototype: 1 }],
    ]);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  });

  it('with a repeated key has the last value', () => {
    expect(parse('{"a":1,"a":2}').object).toEqual({ a: 2 });
  });

  it('is read back as it was written, whatever it contains', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (written) => {
        const json = JSON.stringify(written);
        const row = parse(json);
        // A double above 2^53 is printed as digits that look like a long id.
        if (row.repair === null) expect(row.object).toEqual(JSON.parse(json));
        else expect(json).toMatch(/\d{16}/);
      }),
    );
  });
});

describe('a row is rejected', () => {
  it.each([
    ['nonsense', 'not valid JSON: '],
    ['{"a":', 'not valid JSON: it ends before its last bracket or quote'],
    ['{"a":"x', 'not valid JSON: it ends before its last bracket or quote'],
    ['{"a":1', 'not valid JSON: '],
    ['{"a":1,}', 'at character 8'],
    ['null', 'expected a JSON object, got null'],
    ['[1]', 'expected a JSON object, got an array'],
    ['"text"', 'expected a JSON object, got a string'],
    ['12', 'expected a JSON object, got a number'],
  ])('when it is %s', (text, reason) => {
    expect(parseJsonRow(text, limits)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });

  it('when it has one key more than allowed, but not at the limit', () => {
    const few = { ...limits, maxColumns: 3 };
    expect(parseJsonRow('{"a":1,"b":2,"c":3}', few).ok).toBe(true);
    expect(parseJsonRow('{"a":1,"b":2,"c":3,"d":4}', few)).toEqual({
      ok: false,
      reason: 'expected at most 3 keys (ingestMaxColumns), got 4',
    });
  });

  it('when a value has one byte more than allowed, but not at the limit', () => {
    const small = { ...limits, maxCellBytes: 10 };
    expect(parseJsonRow('{"a":"äääää"}', small).ok).toBe(true);
    expect(parseJsonRow('{"a":"äääääx"}', small)).toMatchObject({ ok: false });
    expect(parseJsonRow('{"a":[1,2,3,4,5,6]}', small)).toMatchObject({ ok: false });
  });
});
