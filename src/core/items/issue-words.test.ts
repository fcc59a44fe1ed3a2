import { expect, it } from 'vitest';
import { z } from 'zod';
import { errorSignature } from '../errors/error-signature.ts';
import { checkInput, listIssues } from '../../pipeline/input-schema.ts';
import { issueWords } from './issue-words.ts';

const schema = z.object({
  price: z.number(),
  pieces: z.int().min(1).optional(),
  sku: z.string().min(1),
  country: z.enum(['de', 'fr']),
  mail: z.email().optional(),
  page: z.url().optional(),
  size: z.union([z.number(), z.string()]).optional(),
  tags: z.array(z.string()).max(1).optional(),
  code: z
    .string()
    .regex(/^[A-Z]+$/)
    .optional(),
});
const row = { price: 1, sku: 'a', country: 'de' };

async function problemOf(change: Record<string, unknown>): Promise<string> {
  const issues = await listIssues(schema, { ...row, ...change });
  return issues.map(({ field, message }) => `${field}: ${message}`).join('; ');
}

it.each([
  [{ price: undefined }, 'price: expected a number, got nothing'],
  [{ price: 'n/a' }, 'price: expected a number, got "n/a"'],
  [{ price: null }, 'price: expected a number, got null'],
  [{ pieces: 1.5 }, 'pieces: expected a whole number, got 1.5'],
  [{ pieces: 0 }, 'pieces: expected at least 1, got 0'],
  [{ sku: '' }, 'sku: expected a text that is not empty'],
  [{ sku: 7 }, 'sku: expected a text, got 7'],
  [{ country: 'es' }, 'country: expected one of "de", "fr", got "es"'],
  [{ mail: 'ada' }, 'mail: expected an email address, got "ada"'],
  [{ page: 'shop' }, 'page: expected an address such as https://example.com, got "shop"'],
  [{ size: true }, 'size: expected a number or a text, got true'],
  [{ tags: ['a', 'b'] }, 'tags: expected at most 1 entry, got a list'],
  [{ tags: [1] }, 'tags.0: expected a text, got 1'],
  [{ code: 'abc' }, 'code: expected a text of the form /^[A-Z]+$/, got "abc"'],
])('what is wrong with %j is said in a sentence', async (change, sentence) => {
  expect(await problemOf(change)).toBe(sentence);
});

it('says the same of a row that is run as of one that is previewed', async () => {
  const given = { ...row, price: 'n/a', sku: '' };
  expect(await checkInput(schema, given)).toEqual({ ok: false, message: await problemOf(given) });
});

it('a long value is cut, and the rows of many values are one group of errors', async () => {
  const [long, quoted] = [await problemOf({ price: 'x'.repeat(500) }), await problemOf({ price: 'a "b" c' })];
  expect(long.length).toBeLessThan(120);
  expect(errorSignature('invalid', long)).toBe(errorSignature('invalid', quoted));
});

it('what the author of a schema wrote stays as it is', async () => {
  const worded = z.object({ sku: z.string('Invalid SKU').regex(/^A/, 'expected a SKU such as A-1') });
  expect(await listIssues(worded, { sku: 'b' })).toEqual([
    { field: 'sku', message: 'expected a SKU such as A-1' },
  ]);
  expect(await listIssues(worded, {})).toEqual([{ field: 'sku', message: 'Invalid SKU' }]);
  const refined = z.object({ sku: z.string() }).refine(() => false, 'expected a known SKU');
  expect(await listIssues(refined, { sku: 'b' })).toEqual([{ field: null, message: 'expected a known SKU' }]);
});

it('fields that are not known are named', async () => {
  expect(await listIssues(z.strictObject({}), { a: 1, b: 2 })).toEqual([
    { field: null, message: 'expected no field "a", "b" here' },
  ]);
});

it('where it may be a secret, the value is not said', () => {
  const account = z.object({ password: z.string().min(12), days: z.number() });
  const given = { password: 'hunter2', days: 'soon' };
  const words = account
    .safeParse(given)
    .error!.issues.map((issue) => issueWords(issue, given, { showsValue: false }));
  expect(words).toEqual(['expected at least 12 characters', 'expected a number, got a text']);
});

it('what another library says of a type is worded alike', () => {
  const issue = {
    message: 'Invalid type: Expected number but received "n/a"',
    expected: 'number',
    received: '"n/a"',
    path: [{ key: 'price' }],
  };
  expect(issueWords(issue, { price: 'n/a' }, { showsValue: true })).toBe('expected a number, got "n/a"');
});

it('of what a schema made of a value, only what is expected is said', () => {
  const list = z.object({
    statuses: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(['DONE', 'ERROR']))),
  });
  const given = { statuses: 'DONE,WRONG' };
  const [issue] = list.safeParse(given).error!.issues;
  for (const showsValue of [true, false])
    expect(issueWords(issue!, given, { showsValue })).toBe('expected one of "DONE", "ERROR"');
});
