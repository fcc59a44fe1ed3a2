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
  [{ price: '29,50' }, 'price: expected a number, got "29,50"; write decimals with a point: "29.50"'],
  [{ price: '1,000' }, 'price: expected a number, got "1,000"'],
  [{ price: null }, 'price: expected a number, got null'],
  [{ pieces: 1.5 }, 'pieces: expected a whole number, got 1.5'],
  [{ pieces: 0 }, 'pieces: expected at least 1, got 0'],
  [{ sku: '' }, 'sku: expected non-empty text'],
  [{ sku: 7 }, 'sku: expected text, got 7'],
  [{ country: 'es' }, 'country: expected one of "de", "fr", got "es"'],
  [{ mail: 'ada' }, 'mail: expected an email address, got "ada"'],
  [{ page: 'shop' }, 'page: expected a URL such as https://example.com, got "shop"'],
  [{ size: true }, 'size: expected a number or text, got true'],
  [{ tags: ['a', 'b'] }, 'tags: expected at most 1 entry, got a list'],
  [{ tags: [1] }, 'tags.0: expected text, got 1'],
  [{ code: 'abc' }, 'code: expected text that matches /^[A-Z]+$/, got "abc"'],
])('describes the problem with %j', async (change, sentence) => {
  expect(await problemOf(change)).toBe(sentence);
});

it('gives the same message in a run as in a preview', async () => {
  const given = { ...row, price: 'n/a', sku: '' };
  expect(await checkInput(schema, given)).toEqual({ ok: false, message: await problemOf(given) });
});

it('truncates long values, and different values form one error group', async () => {
  const [long, quoted] = [await problemOf({ price: 'x'.repeat(500) }), await problemOf({ price: 'a "b" c' })];
  expect(long.length).toBeLessThan(120);
  expect(errorSignature('invalid', long)).toBe(errorSignature('invalid', quoted));
});

it('keeps messages written by the author of a schema', async () => {
  const worded = z.object({ sku: z.string('Invalid SKU').regex(/^A/, 'expected a SKU such as A-1') });
  expect(await listIssues(worded, { sku: 'b' })).toMatchObject([
    { field: 'sku', message: 'expected a SKU such as A-1' },
  ]);
  expect(await listIssues(worded, {})).toMatchObject([{ field: 'sku', message: 'Invalid SKU' }]);
  const refined = z.object({ sku: z.string() }).refine(() => false, 'expected a known SKU');
  expect(await listIssues(refined, { sku: 'b' })).toMatchObject([
    { field: null, message: 'expected a known SKU' },
  ]);
});

it('names unknown fields', async () => {
  expect(await listIssues(z.strictObject({}), { a: 1, b: 2 })).toMatchObject([
    { field: null, message: 'expected no field "a", "b"' },
  ]);
});

it('does not show a value that may be a secret', () => {
  const account = z.object({ password: z.string().min(12), days: z.number() });
  const given = { password: 'hunter2', days: 'soon' };
  const words = account
    .safeParse(given)
    .error!.issues.map((issue) => issueWords(issue, given, { showsValue: false }));
  expect(words).toEqual(['expected at least 12 characters', 'expected a number, got text']);
});

it('rewords type errors of another library in the same way', () => {
  const issue = {
    message: 'Invalid type: Expected number but received "n/a"',
    expected: 'number',
    received: '"n/a"',
    path: [{ key: 'price' }],
  };
  expect(issueWords(issue, { price: 'n/a' }, { showsValue: true })).toBe('expected a number, got "n/a"');
});

it('shows only the expectation for a value that the schema derived', () => {
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
