import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorSignature } from './error-signature.ts';

const signature = (message: string) => errorSignature('permanent', message);

describe('errors that differ only in particulars', () => {
  it.each([
    ['numbers', 'no answer within 1200 ms', 'no answer within 31 ms'],
    ['decimal numbers', 'price 12.50 is too high', 'price 9 is too high'],
    [
      'uuids',
      'user 0b8f3a52-7c5e-4e07-9a11-5d5be1c0a111 is gone',
      'user A2222222-7c5e-4e07-9a11-5d5be1c0a222 is gone',
    ],
    ['hashes', 'object deadbeefdeadbeef is missing', 'object 0123456789abcdef is missing'],
    ['addresses', 'GET https://a.example/x?y=1 failed', 'GET http://b.example/z failed'],
    ['IP addresses', 'connect ECONNREFUSED 10.0.0.1:5432', 'connect ECONNREFUSED 192.168.10.7:80'],
    ['values in double quotes', 'unknown brand "Acme"', 'unknown brand "Zed & Co"'],
    ['values in single quotes', "unknown brand 'Acme'", "unknown brand 'Zed & Co'"],
    ['values in backquotes', 'unknown brand `Acme`', 'unknown brand `Zed`'],
    ['product codes', 'SKU-1001 was not found', 'SKU-77 was not found'],
    ['white space', 'it  failed\n here', 'it failed here '],
  ])('are one group when they differ in %s', (_, a, b) => {
    expect(signature(a)).toBe(signature(b));
  });

  it.each([
    ['numbers of three digits', 'row 7 has no price', 'row 123 has no price'],
    ['values in single quotes after an apostrophe', "can't open 'a'", "can't open 'b'"],
  ])('are one group when they differ in %s', (_, a, b) => {
    expect(signature(a)).toBe(signature(b));
  });

  it.each([
    ['status codes', 'the service answered 429', 'the service answered 503'],
    ['words', 'the brand is unknown', 'the price is unknown'],
  ])('are two groups when they differ in %s', (_, a, b) => {
    expect(signature(a)).not.toBe(signature(b));
  });

  it('are two groups when their class differs', () => {
    expect(errorSignature('timeout', 'x')).not.toBe(errorSignature('permanent', 'x'));
  });
});

describe('a signature', () => {
  it('is bounded, well formed and the same every time, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (message) => {
        const made = signature(message);
        expect(made.length).toBeLessThanOrEqual('permanent: '.length + 200);
        expect(made.isWellFormed()).toBe(true);
        expect(signature(message)).toBe(made);
      }),
    );
  });

  // A pattern that backtracks on any of these would not come back within the test's time limit.
  it.each([
    ['letters', 'a'],
    ['digits', '1'],
    ['dashes', '-'],
    ['opening quotes', '"'],
    ['mixed quotes', '"\'`'],
    ['white space', ' '],
    ['hexadecimal digits', 'f0'],
    ['schemes', 'http://'],
    ['halves of uuids', '0b8f3a52-7c5e-'],
    ['half surrogate pairs', '\ud83d'],
  ])('of a megabyte of %s is made without backtracking', (_, unit) => {
    const hostile = unit.repeat(Math.ceil(1_000_000 / unit.length));
    for (let i = 0; i < 20; i += 1) expect(signature(hostile).length).toBeLessThanOrEqual(211);
  });
});
