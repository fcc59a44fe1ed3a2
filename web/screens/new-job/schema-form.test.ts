import { expect, test } from 'vitest';
import { z } from 'zod';
import { fieldsOfSchema, readForm } from './schema-form.ts';

const schema = z.toJSONSchema(
  z.object({
    country: z.string(),
    limit: z.number().int().min(1).max(10).default(5),
    ratio: z.number().nullable().optional(),
    fast: z.boolean().default(true),
    tier: z.enum(['low', 'high']).optional(),
    tags: z.array(z.string()).optional(),
  }),
  { io: 'input' },
);
const fields = fieldsOfSchema(schema as Record<string, unknown>);

test('every property of the schema becomes a field of its kind', () => {
  expect(fields.map(({ name, kind, required }) => [name, kind, required])).toEqual([
    ['country', 'text', true],
    ['limit', 'integer', false],
    ['ratio', 'number', false],
    ['fast', 'boolean', false],
    ['tier', 'choice', false],
    ['tags', 'json', false],
  ]);
  expect(fields.map(({ initial }) => initial)).toEqual(['', '5', '', 'true', '', '']);
  expect(fields.map(({ min, max }) => [min, max])[1]).toEqual([1, 10]);
});

test('texts become values of their kinds, and empty ones are left out', () => {
  const texts = { country: 'de', limit: '3', ratio: '', fast: 'false', tier: 'high', tags: '["a"]' };
  expect(readForm(fields, texts)).toEqual({
    values: { country: 'de', limit: 3, fast: false, tier: 'high', tags: ['a'] },
    problems: {},
  });
});

test('missing and invalid values are reported by field', () => {
  const texts = { limit: '11', ratio: 'much', tier: 'middle', tags: '[a]' };
  expect(readForm(fields, texts).problems).toEqual({
    country: 'Required',
    limit: 'At most 10',
    ratio: 'Enter a number',
    tier: 'Select an option',
    tags: 'Invalid JSON. Use double quotes for text and [ ] for lists.',
  });
});

test('a whole number is asked for where the schema wants one', () => {
  expect(readForm(fields, { country: 'de', limit: '1.5' }).problems).toEqual({
    limit: 'Enter a whole number',
  });
});

test('a text that looks like a number stays a text, and a selected number stays a number', () => {
  const chosen = fieldsOfSchema({
    properties: { code: { type: 'string' }, size: { enum: [1, 2] }, kind: { $ref: '#/$defs/Kind' } },
    $defs: { Kind: { type: 'boolean', title: 'Sort' } },
  });
  expect(chosen.map(({ kind, title }) => [kind, title])).toEqual([
    ['text', 'code'],
    ['choice', 'size'],
    ['boolean', 'Sort'],
  ]);
  expect(readForm(chosen, { code: '007', size: '2' }).values).toEqual({ code: '007', size: 2 });
});

test('without a schema there is nothing to ask', () => {
  expect(fieldsOfSchema(null)).toEqual([]);
  expect(fieldsOfSchema({ type: 'array' })).toEqual([]);
});
