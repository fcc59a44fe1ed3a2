import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorSignature } from './error-signature.ts';

const signature = (message: string) => errorSignature('permanent', message);

describe('errors that differ only in details', () => {
  it.each([
    ['numbers', 'no answer within 1200 ms', 'no answer within 31 ms'],
    ['large numbers', 'token 7 expired', 'token 1700000000000 expired'],
    ['long fractions', 'off by 0.5', 'off by 0.30000000000000004'],
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
    ['values in curly quotes', 'unknown brand “Acme”', 'unknown brand “Zed & Co”'],
    ['values in German quotes', 'unbekannte Marke „Acme“', 'unbekannte Marke „Zed“'],
    ['values in French quotes', 'marque inconnue « Acme »', 'marque inconnue « Zed »'],
    ['e-mail addresses', 'no user ann@example.com', 'no user bob.x@mail.example'],
    ['names of people', 'no price for Anna Miller', 'no price for Jean-Luc Picard'],
    ['names at the end', 'for lack of a price for Anna Maria Miller.', 'for lack of a price for Bo Li.'],
    ['one name after its kind', 'brand Acme is unknown', 'brand McFlurry is unknown'],
    ['one name at the end', 'there is no customer Anna.', "there is no customer O'Neil."],
    ['one name after named', 'no product named Kettle', 'no product named Zed'],
    ['a name of one word or two', 'city Paris not found', 'city Bad Homburg not found'],
    ['hosts', 'getaddrinfo ENOTFOUND shop.example', 'getaddrinfo ENOTFOUND a1.b-2.example.org'],
    ['hosts with ports', 'connect ECONNREFUSED shop.example:443', 'connect ECONNREFUSED 10.0.0.1:80'],
    ['values of naming keys', 'refused (userId=anna)', 'refused (userId=bo)'],
    ['values of other naming keys', 'gone: order_id=x', 'gone: order_id=7y'],
    ['files', 'cannot open /data/in/anna.pdf', 'cannot open photos/bo.pdf'],
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
    ['words with capitals', 'answered Bad Gateway', 'answered Service Unavailable'],
    ['types', 'expected an instance of Buffer', 'expected an instance of Array'],
    ['nouns of a German message', 'Keine Marke gefunden', 'Kein Preis gefunden'],
    ['fields', 'no value for Price', 'no value for Brand'],
    ['keys that only end alike', 'refused: valid=never', 'refused: valid=later'],
    ['reasons', 'refused: reason=expired', 'refused: reason=blocked'],
    ['fields of a row', '/items/price must be a number', '/items/brand must be a number'],
    ['missing parts', 'user ID is missing', 'user is missing'],
  ])('are two groups when they differ in %s', (_, a, b) => {
    expect(signature(a)).not.toBe(signature(b));
  });

  it('are two groups when their class differs', () => {
    expect(errorSignature('timeout', 'x')).not.toBe(errorSignature('permanent', 'x'));
  });
});

/** Two values of one kind, as they may appear in a message. */
const pairOf = (particular: fc.Arbitrary<string>) => fc.tuple(particular, particular);
const hex = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength, maxLength });
const quoted = (quote: string) =>
  fc
    .string({ unit: 'grapheme-ascii', maxLength: 20 })
    .map((value) => `${quote}${value.replaceAll(quote, '').replaceAll('\n', '')}${quote}`)
    // A URL extends to the next white space, beyond the closing quote.
    .filter((value) => !/https?:/i.test(value));
const particulars = fc.oneof(
  // Three digits that start with 4 or 5 are a status code and are kept.
  pairOf(
    fc
      .oneof(fc.maxSafeNat(), fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e6 }))
      .map(String)
      .filter((text) => !/^[45]\d\d$/.test(text)),
  ),
  pairOf(fc.uuid()),
  pairOf(hex(12, 64).filter((id) => /[a-f]/i.test(id))),
  pairOf(fc.webUrl({ validSchemes: ['http', 'https'], withQueryParameters: true, withFragments: true })),
  pairOf(quoted('"')),
  pairOf(quoted("'")),
  pairOf(quoted('`')),
  // With the word before a name and a word after it, because a following name would be part of it.
  pairOf(
    fc
      .tuple(
        fc.constantFrom(...'ABCÄÖŁЖ'),
        fc.string({ unit: fc.constantFrom(...'abcäłж'), minLength: 1, maxLength: 8 }),
      )
      .map((parts) => `customer ${parts.join('')} has`),
  ),
  pairOf(fc.domain().map((host) => `ENOTFOUND ${host}`)),
  pairOf(
    fc
      .string({ unit: fc.constantFrom(...'abcXYZ123_'), minLength: 1 })
      .map((value) => `customer_id=${value}`),
  ),
);
const words = fc.constantFrom('no', 'price', 'for', 'brand', "can't", 'open', '(timeout)', 'row:', 'E_BUSY');

it('messages with the same words share a signature, for any details', () => {
  const part = fc.oneof(
    words.map((word): [string, string] => [word, word]),
    particulars,
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const [a, b] = [0, 1].map((side) => parts.map((pair) => pair[side]).join(' '));
      expect(signature(a!)).toBe(signature(b!));
    }),
  );
});

describe('a signature', () => {
  it('of a signature is the same signature', () => {
    const shapeOf = (message: string) => signature(message).slice('permanent: '.length);
    const odd = fc.constantFrom(
      '"',
      "'",
      '`',
      '<n>',
      '404',
      '12',
      "5'",
      'SKU-1001',
      'a_1',
      '-',
      'http://x/1',
      'for Anna',
      'Miller',
      'customer',
      'brand Acme',
      'ENOTFOUND',
      'a.example',
      'id=',
      'userId=x,',
      '/a/b.txt.',
      'Bo.',
      'x@y',
    );
    const messages = fc
      .array(fc.oneof(words, odd, fc.string({ maxLength: 6 })), { maxLength: 15 })
      .map((parts) => parts.join(' '));
    fc.assert(
      fc.property(messages, (message) => {
        const shape = shapeOf(message);
        expect(shapeOf(shape)).toBe(shape);
      }),
      { numRuns: 1000 },
    );
  });

  it('does not end in white space when it is truncated', () => {
    expect(signature(`${'word '.repeat(39)}last word`)).toMatch(/\S$/);
    expect(signature(`${'x'.repeat(199)} y`)).toMatch(/\S$/);
  });

  it('is bounded, well formed and deterministic for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (message) => {
        const made = signature(message);
        expect(made.length).toBeLessThanOrEqual('permanent: '.length + 200);
        expect(made.isWellFormed()).toBe(true);
        expect(signature(message)).toBe(made);
      }),
    );
  });

  // A pattern that backtracks on any of these would exceed the test's time limit.
  it.each([
    ['letters', 'a'],
    ['digits', '1'],
    ['dashes', '-'],
    ['opening quotes', '"'],
    ['mixed quotes', '"\'`'],
    ['white space', ' '],
    ['hexadecimal digits', 'f0'],
    ['schemes', 'http://'],
    ['curly quotes', '“„«‘'],
    ['addresses', 'a@'],
    ['names', 'for Ann '],
    ['capitals', 'for Aa-Aa '],
    ['halves of uuids', '0b8f3a52-7c5e-'],
    ['half surrogate pairs', '\ud83d'],
  ])('of a megabyte of %s is computed without backtracking', (_, unit) => {
    const hostile = unit.repeat(Math.ceil(1_000_000 / unit.length));
    for (let i = 0; i < 20; i += 1) expect(signature(hostile).length).toBeLessThanOrEqual(211);
  });
});
