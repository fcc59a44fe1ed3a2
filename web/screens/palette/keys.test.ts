import { expect, test } from 'vitest';
import { actionOf } from './keys.ts';

const pressed = (key: string, more: object = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isTyping: false,
  ...more,
});

test('the palette opens with Ctrl or Cmd and K, also while typing', () => {
  expect(actionOf(pressed('k', { ctrlKey: true, isTyping: true }), null)).toBe('palette');
  expect(actionOf(pressed('K', { metaKey: true }), null)).toBe('palette');
  expect(actionOf(pressed('k'), null)).toBe(null);
});

test('a question mark shows the shortcuts, but not while typing', () => {
  expect(actionOf(pressed('?'), null)).toBe('keys');
  expect(actionOf(pressed('?', { isTyping: true }), null)).toBe(null);
});

test('g and a letter go to a screen', () => {
  expect(actionOf(pressed('w'), 'g')).toEqual({ go: '/workers' });
  expect(actionOf(pressed('w'), 'x')).toBe(null);
  expect(actionOf(pressed('w', { isTyping: true }), 'g')).toBe(null);
  expect(actionOf(pressed('w', { ctrlKey: true }), 'g')).toBe(null);
});
