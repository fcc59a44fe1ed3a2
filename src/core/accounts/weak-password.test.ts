import { describe, expect, it } from 'vitest';
import { weakPasswordBecause } from './weak-password.ts';

describe('a password', () => {
  it.each([
    'short',
    'elevenchars',
    'aaaaaaaaaaaaaaaa',
    'abababababab',
    '123456789012',
    'abcdefghijkl',
    'zyxwvutsrqponm',
    'password1234',
    'Password123!',
    'PASSWORDPASSWORD',
    'qwertyuiop12',
    '1q2w3e4r5t6y',
    'administrator',
    '1975-03-01-12:00',
    'annamaria1975',
    'xannamariax12',
  ])('is refused if it is easy to guess: %s', (password) => {
    expect(weakPasswordBecause(password, 'annamaria')).toEqual(expect.any(String));
  });

  it.each([
    'quiet harbour lantern',
    'annamaria likes plums',
    'Tr0ub4dor&3xyz',
    'пароль из пяти слов',
    '🐢🐇🦊🐻🐼🦁🐮🐷🐸🐵🐔🐧',
  ])('is accepted if it is long and hard to guess: %s', (password) => {
    expect(weakPasswordBecause(password, 'annamaria')).toBeNull();
  });

  it('is not quoted in the reason', () => {
    for (const password of ['annamaria1975', 'password1234', 'short'])
      expect(weakPasswordBecause(password, 'annamaria')).not.toContain(password);
  });
});
