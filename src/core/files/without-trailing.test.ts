import { describe, expect, it } from 'vitest';
import { withoutTrailing } from './without-trailing.ts';

describe('the end of a text', () => {
  it.each([
    ['https://a.example//', '/', 'https://a.example'],
    ['//', '/', ''],
    ['', '/', ''],
    ['a/b', '/', 'a/b'],
    ['a\\/\\', '\\/', 'a'],
  ])('of %j loses %j', (text, set, expected) => {
    expect(withoutTrailing(text, set)).toBe(expected);
  });
});
