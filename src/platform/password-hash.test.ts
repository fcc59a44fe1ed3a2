import { describe, expect, it } from 'vitest';
import { HashQueueFullError, hashPassword, verifyPassword } from './password-hash.ts';

const QUICK = 10;

describe('a hashed password', () => {
  it('does not match another password, even one that differs only at the end of a long text', async () => {
    const password = `${'long '.repeat(50)}end`;
    const stored = await hashPassword(password, QUICK);
    expect(stored).toMatch(/^\$scrypt\$ln=10,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(await verifyPassword(password, stored)).toBe(true);
    expect(await verifyPassword(`${password}.`, stored)).toBe(false);
    expect(await verifyPassword(password.slice(0, -1), stored)).toBe(false);
    expect(await verifyPassword('', stored)).toBe(false);
  });

  it('differs each time', async () => {
    expect(await hashPassword('the same words', QUICK)).not.toBe(await hashPassword('the same words', QUICK));
  });

  it('matches both Unicode forms of an accent', async () => {
    const stored = await hashPassword('caf\u00e9 au lait', QUICK);
    expect(await verifyPassword('cafe\u0301 au lait', stored)).toBe(true);
  });

  it('has the full cost by default, also for an unknown account', async () => {
    const stored = await hashPassword('quiet harbour lantern');
    expect(stored).toContain('$scrypt$ln=17,r=8,p=1$');
    expect(await verifyPassword('quiet harbour lantern', stored)).toBe(true);
    expect(await verifyPassword('quiet harbour lantern', null)).toBe(false);
  });

  it('is refused if it is stored in another format', async () => {
    for (const stored of ['', 'plain text', '$scrypt$ln=10,r=8,p=1$short'])
      await expect(verifyPassword('x', stored)).rejects.toThrow('not a scrypt hash');
  });
});

describe('many passwords at once', () => {
  it('wait for each other, and are refused if there are too many', async () => {
    const all = await Promise.allSettled(Array.from({ length: 120 }, () => hashPassword('words', QUICK)));
    const refused = all.filter((each) => each.status === 'rejected');
    // Two run, a hundred wait.
    expect(refused).toHaveLength(18);
    for (const { reason } of refused as PromiseRejectedResult[])
      expect(reason).toBeInstanceOf(HashQueueFullError);
    expect(await hashPassword('words', QUICK)).toContain('$scrypt$');
  });
});
