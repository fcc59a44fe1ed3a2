import { describe, expect, it } from 'vitest';
import { resourceKey } from './phase-resources.ts';

describe('the key of a resource', () => {
  it('is a text, or a number as a text, so that a tenant has one limit however its number is written', () => {
    expect(resourceKey('example.com')).toBe('example.com');
    expect([resourceKey(17), resourceKey(18)]).toEqual(['17', '18']);
  });

  it('is cut, and has no characters that cannot be stored', () => {
    expect(resourceKey(`a\0${'b'.repeat(500)}`)).toBe(`a\uFFFD${'b'.repeat(198)}`);
  });

  it.each([undefined, '', Number.NaN, {}, [], true])('is refused if it is %j', (value) => {
    expect(() => resourceKey(value)).toThrow('expected the key of a resource to be a text');
  });
});
