import { expect, test } from 'vitest';
import { likelyField } from './likely-field.ts';

const fields = [
  { key: 'sku', text: 'A-1' },
  { key: 'url', text: 'http://shop.example/1' },
  { key: 'country', text: 'Deutschland' },
  { key: 'country_code', text: 'de' },
];

test.each([
  ['country: expected at most 2 characters, got "Deutschland"', 'country'],
  ['country_code: expected 2 characters', 'country_code'],
  ['refused http://shop.example/1', 'url'],
  ['no company in Deutschland', 'country'],
  ['url and sku do not match', 'url'],
  // Neither a name inside another word nor a short value says anything.
  ['curly header, desk is closed', 'sku'],
  ['service is closed', 'sku'],
])('%s', (message, field) => {
  expect(likelyField(message, fields)).toBe(field);
});

test('a row without fields has none', () => {
  expect(likelyField('url', [])).toBeNull();
});
