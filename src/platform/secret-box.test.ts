import { expect, test } from 'vitest';
import { SecretBox } from './secret-box.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('base64');

test('a secret is sealed differently each time and can be opened', () => {
  const box = new SecretBox(KEY);
  const [first, second] = [box.seal('whsec_canary', 'webhook 1'), box.seal('whsec_canary', 'webhook 1')];
  expect(first).not.toContain('canary');
  expect(first).not.toBe(second);
  expect(box.open(first, 'webhook 1')).toBe('whsec_canary');
});

test('a secret cannot be opened with another key, for another purpose, or after tampering', () => {
  const sealed = new SecretBox(KEY).seal('whsec_canary', 'webhook 1');
  expect(() => new SecretBox(OTHER).open(sealed, 'webhook 1')).toThrow('another secretKey');
  expect(() => new SecretBox('none').open(sealed, 'webhook 1')).toThrow('another secretKey');
  expect(() => new SecretBox(KEY).open(sealed, 'webhook 2')).toThrow();
  const parts = sealed.split('.');
  parts[4] = Buffer.from('whsec_forged').toString('base64url');
  expect(() => new SecretBox(KEY).open(parts.join('.'), 'webhook 1')).toThrow();
});

test('without a key a secret is stored in plain text, and stays readable after a key is added', () => {
  const stored = new SecretBox('none').seal('whsec_canary', 'webhook 1');
  expect(stored).toBe('whsec_canary');
  expect(new SecretBox(KEY).open(stored, 'webhook 1')).toBe('whsec_canary');
});

test('a key of another length is refused', () => {
  expect(() => new SecretBox('c2hvcnQ=')).toThrow('32 bytes as base64, got 5 bytes');
});

test('the first of several keys seals, and all of them open', () => {
  const old = new SecretBox(OTHER).seal('whsec_canary', 'webhook 1');
  const both = new SecretBox(`${KEY}, ${OTHER}`);
  expect(both.open(old, 'webhook 1')).toBe('whsec_canary');
  expect(new SecretBox(KEY).open(both.seal('whsec_new', 'webhook 1'), 'webhook 1')).toBe('whsec_new');
});
