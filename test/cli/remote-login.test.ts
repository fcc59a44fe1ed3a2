// Signing in and out: what is stored, who can read it, and what is never shown.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Asked, Refusal, startContractServer } from '../client/contract-server.ts';
import { AT, exampleListedJob } from '../client/example-answers.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { MAIN } from '../support/built-program.ts';
import { runCommand } from '../support/run-command.ts';

const KEY = 'rmk_0123456789abcdef_a-secret-that-nobody-sees';
const PASSWORD = 'correct horse battery staple';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-login-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const credentials = () => join(folder, 'config', 'rowmill', 'credentials.json');
const rowmill = (args: string[], input = '') =>
  runCommand({ folder, environment: { XDG_CONFIG_HOME: join(folder, 'config') }, input }, args);

function session(via: 'session' | 'key' | 'none') {
  return {
    userId: 'alice',
    role: 'member',
    teamId: null,
    via,
    scopes: ['read'],
    expiresAt: null,
    confirmedUntil: null,
  };
}

const made = {
  keyId: '0123456789abcdef',
  name: 'n',
  userId: 'alice',
  scopes: ['read'],
  createdAt: AT,
  expiresAt: AT,
  lastUsedAt: null,
  revokedAt: null,
};

const guarded = (via: 'key') => ({
  getSession: ({ headers }: Asked) =>
    headers.authorization === `Bearer ${KEY}` ? session(via) : new Refusal(401, 'UNAUTHENTICATED'),
  listJobs: ({ headers }: Asked) =>
    headers.authorization === `Bearer ${KEY}`
      ? { items: [exampleListedJob()], next: null }
      : new Refusal(401, 'UNAUTHENTICATED'),
});

test('checks and stores a key from standard input, uses it, and deletes it at logout', async () => {
  const server = await startContractServer({ ...guarded('key'), revokeKey: () => undefined });
  const signedIn = await rowmill(['login', server.url], `${KEY}\n`);
  expect(signedIn).toMatchObject({ code: 0, stderr: '' });
  expect(signedIn.stdout).toContain(`Signed in to ${server.url} as alice`);
  expect(signedIn.stdout).not.toContain(KEY);
  expect(statSync(credentials()).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(credentials(), 'utf8'))).toEqual({
    current: server.url,
    servers: { [server.url]: { apiKey: KEY, userId: 'alice', keyId: null } },
  });
  expect((await rowmill(['jobs'])).stdout).toContain('rows.csv');
  const out = await rowmill(['logout']);
  expect(out.stdout).toContain(
    `Signed out of ${server.url}; the key was not created by login and stays valid`,
  );
  expect(existsSync(credentials())).toBe(false);
  // Login did not create the key, so logout must not revoke it.
  expect(server.asked.map((each) => each.name)).not.toContain('revokeKey');
  expect((await rowmill(['logout'])).stdout).toBe('Not signed in\n');
});

test('a key that the server rejects is not stored', async () => {
  const server = await startContractServer(guarded('key'));
  writeFileSync(join(folder, 'key'), 'rmk_wrong_key\n');
  const refused = await rowmill(['login', server.url, '--key-file', 'key']);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('[UNAUTHENTICATED]');
  const nonsense = await rowmill(['login', server.url], 'hello\n');
  expect(nonsense.stderr).toContain('expected an API key that begins with rmk_');
  expect(existsSync(credentials())).toBe(false);
});

test('a password creates a key and leaves no session; logout revokes the key', async () => {
  const server = await startContractServer({
    ...guarded('key'),
    signIn: ({ body, reply }) => {
      if ((body as { password: string }).password !== PASSWORD) return new Refusal(401, 'SIGN_IN_FAILED');
      reply.setHeader('set-cookie', ['rowmill=token; HttpOnly; Path=/', 'other=1']);
      return session('session');
    },
    createKey: ({ headers }) =>
      headers.cookie === 'rowmill=token; other=1' && headers.origin === server.url
        ? { ...made, key: KEY }
        : new Refusal(401, 'UNAUTHENTICATED'),
    signOut: () => undefined,
    revokeKey: ({ headers }) =>
      headers.authorization === `Bearer ${KEY}` ? undefined : new Refusal(401, 'UNAUTHENTICATED'),
  });
  const args = ['login', server.url, '--user', 'alice', '--scopes', 'read,admin', '--days', '7'];
  const wrong = await rowmill(args, 'another password\n');
  expect(wrong.stderr).toContain('[SIGN_IN_FAILED]');
  const right = await rowmill(args, `${PASSWORD}\n`);
  expect(right).toMatchObject({ code: 0 });
  expect(right.stdout + right.stderr).not.toContain(PASSWORD);
  const stored = readFileSync(credentials(), 'utf8');
  expect(stored).toContain(KEY);
  expect(stored).not.toContain(PASSWORD);
  const created = server.asked.find((each) => each.name === 'createKey')!;
  expect(created.body).toMatchObject({ scopes: ['read', 'admin'], days: 7 });
  expect(server.asked.at(-1)!.name).toBe('signOut');
  const out = await rowmill(['logout']);
  expect(out.stdout).toContain('the key is revoked');
  expect(server.asked.at(-1)).toMatchObject({ name: 'revokeKey', params: { keyId: made.keyId } });
});

/** Runs a command in a terminal of its own. */
const TERMINAL = 'script';
const hasTerminal = spawnSync(TERMINAL, ['-qec', 'true', '/dev/null']).status === 0;
test.runIf(hasTerminal)('a password typed at a terminal is not echoed', async () => {
  const server = await startContractServer({
    getSession: () => new Refusal(401, 'UNAUTHENTICATED'),
    signIn: () => new Refusal(401, 'SIGN_IN_FAILED'),
  });
  const command = `'${process.execPath}' '${MAIN}' login '${server.url}'`;
  const terminal = spawn(TERMINAL, ['-qec', command, '/dev/null'], {
    env: { ...bareEnvironment(), XDG_CONFIG_HOME: join(folder, 'config'), TERM: 'dumb' },
  });
  let shown = '';
  const answers: [question: string, typed: string][] = [
    ['User: ', 'alice\r'],
    ['Password: ', `${PASSWORD}\r`],
  ];
  terminal.stdout.on('data', (chunk) => {
    shown += String(chunk);
    if (answers.length > 0 && shown.includes(answers[0]![0])) terminal.stdin.write(answers.shift()![1]);
  });
  await once(terminal, 'close');
  expect(server.asked.at(-1)).toMatchObject({
    name: 'signIn',
    body: { userId: 'alice', password: PASSWORD },
  });
  expect(shown).toContain('[SIGN_IN_FAILED]');
  expect(shown).not.toContain('horse');
});

test('a server without accounts is stored without a key, and an address with a key is refused', async () => {
  const server = await startContractServer({
    getSession: () => session('none'),
    listJobs: () => ({ items: [], next: null }),
  });
  const { stdout } = await rowmill(['login', `${server.url}/`]);
  expect(stdout).toContain('the server needs no key');
  expect((await rowmill(['jobs'])).stdout).toBe('No jobs\n');
  expect((await rowmill(['open', '--print'])).stdout).toBe(`${server.url}/\n`);
  const secret = await rowmill(['jobs', '--api', 'http://user:hidden@127.0.0.1:9']);
  expect(secret.code).toBe(1);
  expect(secret.stderr).toContain('expected the address of a server');
  expect(secret.stderr).not.toContain('hidden');
  writeFileSync(credentials(), '{');
  expect((await rowmill(['jobs'])).stderr).toContain('sign in again: rowmill login');
});

test('keys are listed, created and revoked', async () => {
  const server = await startContractServer({
    listKeys: () => ({ items: [made] }),
    createKey: () => ({ ...made, key: KEY }),
    revokeKey: () => undefined,
  });
  const api = ['--api', server.url];
  const listed = await rowmill(['keys', ...api, '--all']);
  expect(listed.stdout).toMatch(/0123456789abcdef +n +alice +read +2026-01-02 +2026-01-02 +never +valid/);
  const created = await rowmill(['keys', 'create', 'ci', '--scopes', 'read,write', '--days', 'none', ...api]);
  expect(created).toMatchObject({ code: 0, stdout: `${KEY}\n` });
  const refused = await rowmill(['keys', 'revoke', made.keyId, ...api]);
  expect(refused.stderr).toContain('[NOT_CONFIRMED]');
  const revoked = await rowmill(['keys', 'revoke', made.keyId, '--yes', ...api]);
  expect(revoked.stdout).toBe(`Key ${made.keyId} is revoked\n`);
  expect(server.asked.map(({ name, body, query }) => [name, name === 'listKeys' ? query : body])).toEqual([
    ['listKeys', { all: true, limit: 1000 }],
    ['createKey', { name: 'ci', scopes: ['read', 'write'], days: null }],
    ['revokeKey', {}],
  ]);
});
