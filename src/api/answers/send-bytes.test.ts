import { describe, expect, test } from 'vitest';
import { contentDisposition } from './send-bytes.ts';

// One header with two parameters, and only characters that RFC 6266 and RFC 8187 allow.
const FORM =
  /^attachment; filename="([ !#$&-[\]-~]*)"; filename\*=UTF-8''((?:[\w!#$&+.^`|~-]|%[0-9A-F]{2})*)$/;

describe('the name of a download', () => {
  test.each([
    ['rows.csv', 'rows.csv', 'rows.csv'],
    ['a"; filename="b.exe', 'a_; filename=_b.exe', 'a"; filename="b.exe'],
    ['a\r\nset-cookie: x=1', 'a__set-cookie: x=1', 'a__set-cookie: x=1'],
    ['../../etc/passwd', '.._.._etc_passwd', '.._.._etc_passwd'],
    ['..\\boot.ini', '.._boot.ini', '.._boot.ini'],
    ['100%41.csv', '100_41.csv', '100%41.csv'],
    ["it's (1)*.csv", "it's (1)*.csv", "it's (1)*.csv"],
    ['größe €.csv', 'gr__e _.csv', 'größe €.csv'],
    ['photo\u202egpj.exe', 'photo_gpj.exe', 'photo_gpj.exe'],
    ['half \ud800 pair.csv', 'half _ pair.csv', 'half \ufffd pair.csv'],
    ['a\0b\u007fc\u0085d', 'a_b_c_d', 'a_b_c_d'],
    ['', 'download', 'download'],
  ])('%j is sent as %j, and encoded as %j', (name, plain, real) => {
    const [, sentPlain, encoded] = FORM.exec(contentDisposition(name)) ?? [];
    expect([sentPlain, encoded && decodeURIComponent(encoded)]).toEqual([plain, real]);
  });

  test('is short enough for a header', () => {
    expect(contentDisposition('€'.repeat(10_000))).toMatch(FORM);
    expect(contentDisposition('€'.repeat(10_000)).length).toBeLessThan(4000);
  });
});
