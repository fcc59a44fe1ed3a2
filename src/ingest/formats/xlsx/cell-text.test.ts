import fc from 'fast-check';
import { dateToSerial } from 'hucre';
import { describe, expect, it } from 'vitest';
import { builtInDateKind, dateKindOf, dateText, numberText } from './cell-text.ts';

describe('a number in a cell', () => {
  it.each([
    ['0', '0'],
    ['-0', '0'],
    ['007', '7'],
    ['1.50', '1.5'],
    ['0.10000000000000001', '0.1'],
    ['12345678901234567', '12345678901234567'],
    ['100000000000000000000', '100000000000000000000'],
    ['1E+20', '100000000000000000000'],
    ['1.2345678901234567E+16', '12345678901234568'],
    ['1e21', '1e+21'],
    ['1E-7', '1e-7'],
    ['-12.5', '-12.5'],
    [' 3 ', '3'],
  ])('%s is %s', (written, text) => {
    expect(numberText(written)).toBe(text);
  });

  it.each(['', ' ', 'abc', '1e999', 'NaN', 'Infinity', '1,5'])('is invalid: %j', (written) => {
    expect(numberText(written)).toBeNull();
  });
});

describe('a date', () => {
  it.each([
    [1, '1900-01-01'],
    [59, '1900-02-28'],
    [61, '1900-03-01'],
    [45322, '2024-01-31'],
    [45322.395833333336, '2024-01-31T09:30:00'],
    [45322.999988425923, '2024-01-31T23:59:59'],
    [45322.5000000058, '2024-01-31T12:00:00.001'],
    [2958465, '9999-12-31'],
  ])('of serial %d counted from 1900 is %s', (serial, text) => {
    expect(dateText(serial, 'date', false)).toBe(text);
  });

  it.each([
    [0, '1904-01-01'],
    [43860, '2024-01-31'],
    [43860.395833333336, '2024-01-31T09:30:00'],
  ])('of serial %d counted from 1904 is %s', (serial, text) => {
    expect(dateText(serial, 'date', true)).toBe(text);
  });

  it.each([-1, 60, 60.5, 2958466, 1e300, Number.NaN])('is invalid: %d', (serial) => {
    expect(dateText(serial, 'date', false)).toBeNull();
  });

  it('is read back as it was written, in both date systems', () => {
    const date = fc.date({
      min: new Date('1904-01-02T00:00:00Z'),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(date, fc.boolean(), (written, date1904) => {
        const seconds = new Date(Math.floor(written.getTime() / 1000) * 1000);
        const iso = seconds.toISOString();
        const expected = iso.endsWith('T00:00:00.000Z') ? iso.slice(0, 10) : iso.slice(0, 19);
        expect(dateText(dateToSerial(seconds, date1904), 'date', date1904)).toBe(expected);
      }),
    );
  });
});

describe('a time', () => {
  it.each([
    [0.5, 'time', '12:00:00'],
    [0, 'time', '00:00:00'],
    [0.395833333333333, 'time', '09:30:00'],
    [0.5, 'date', '12:00:00'],
    [1.5, 'elapsed', '36:00:00'],
    [45322.5, 'time', '2024-01-31T12:00:00'],
  ] as const)('of %d shown as %s is %s', (serial, kind, text) => {
    expect(dateText(serial, kind, false)).toBe(text);
  });
});

describe('a number format', () => {
  it.each([
    ['yyyy-mm-dd', 'date'],
    ['dd.mm.yyyy', 'date'],
    ['[$-409]d/m/yy h:mm AM/PM;@', 'date'],
    ['yyyy"年"m"月"d"日"', 'date'],
    ['mmm-yy', 'date'],
    ['mm', 'date'],
    ['\\d\\ yyyy', 'date'],
    ['h:mm', 'time'],
    ['mm:ss.0', 'time'],
    ['h:mm AM/PM', 'time'],
    ['[h]:mm', 'elapsed'],
    ['[mm]:ss', 'elapsed'],
    ['General', null],
    ['Standard', null],
    ['@', null],
    ['0', null],
    ['0.00', null],
    ['#,##0.00 "days"', null],
    ['0.00E+00', null],
    ['0%', null],
    ['[Red]#,##0;[Blue]-#,##0', null],
    ['#,##0.00 [$kr-414]', null],
    ['_(* #,##0_);_(* (#,##0)', null],
    ['# ?/?', null],
    ['0 \\h', null],
    [';;;', null],
  ])('%s shows %s', (code, kind) => {
    expect(dateKindOf(code)).toBe(kind);
  });

  it('is known by its number if it is built in', () => {
    expect([14, 22, 18, 21, 45, 46, 27, 58].map(builtInDateKind)).toEqual([
      'date',
      'date',
      'time',
      'time',
      'time',
      'elapsed',
      'date',
      'date',
    ]);
    expect([0, 1, 9, 10, 11, 37, 44, 48, 49, 164].map(builtInDateKind)).toEqual(Array(10).fill(null));
  });
});
