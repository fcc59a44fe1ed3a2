import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { credentialsPath, forgetLogin, readLogins, storeLogin } from './stored-login.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-login-'));
  vi.stubEnv('XDG_CONFIG_HOME', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const made = { apiKey: 'rmk_1', userId: 'ada', keyId: 'k1' };
const given = { apiKey: null, userId: 'grace', keyId: null };

test('reads logins as they were stored; the last one is current', () => {
  expect(readLogins()).toEqual({ current: null, servers: {} });
  storeLogin('http://one', made);
  storeLogin('http://two', given);
  expect(readLogins()).toEqual({
    current: 'http://two',
    servers: { 'http://one': made, 'http://two': given },
  });
  forgetLogin('http://two');
  expect(readLogins()).toEqual({ current: null, servers: { 'http://one': made } });
});

test.each([
  '',
  'null',
  '[]',
  '{}',
  '{"current":null}',
  '{"current":1,"servers":{}}',
  '{"current":null,"servers":[]}',
  '{"current":null,"servers":{"http://one":null}}',
  '{"current":null,"servers":{"http://one":{"apiKey":"rmk_1","userId":"ada"}}}',
  '{"current":null,"servers":{"http://one":{"apiKey":1,"userId":"ada","keyId":null}}}',
])('refuses a file that rowmill login did not write: %s', (text) => {
  mkdirSync(dirname(credentialsPath()), { recursive: true });
  writeFileSync(credentialsPath(), text);
  expect(() => readLogins()).toThrow(/not what rowmill login writes/);
});
