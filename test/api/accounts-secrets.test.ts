// Secrets sent to the server appear in no log, no answer to others, and no column.
import { describe, expect, test } from 'vitest';
import { startApi } from '../../src/api/start-api.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { capturedLog } from '../../src/testing/captured-log.ts';
import { addUser, PASSWORD } from '../support/account-factory.ts';
import { type Answered, type Sent, sendRequest } from '../support/send-request.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const CANARY = 'canary';

describe('planted secrets', () => {
  test('never reach logs, answers or the database', async () => {
    const log: string[] = [];
    const flags = {
      authentication: 'password',
      apiPort: 0,
      signInsPerMinute: 1000,
      signInsPerMinuteAddress: 1000,
    };
    await addUser(database, 'keeper', { role: 'admin' });
    const api = await startApi({
      databaseUrl: database.url,
      pipelines: [],
      settings: loadSettings({ flags, environment: { BLOB_STORE: process.env.BLOB_STORE } }),
      log: capturedLog((entry) => log.push(JSON.stringify(entry)), null),
    });
    const answers: string[] = [];
    const secrets = new Set<string>();
    const send = async (path: string, sent: Sent = {}): Promise<Answered> => {
      const answered = await sendRequest(api.url + path, sent);
      answers.push(`${answered.status} ${JSON.stringify(answered.body)}`);
      return answered;
    };
    try {
      const ours = { 'sec-fetch-site': 'same-origin' };
      // Passwords: right, wrong, typed into the name field, in a refused body, and in a body that is not JSON.
      const password = `${CANARY} of the first password`;
      const next = `${CANARY} of the second password`;
      const signIn = (userId: string, given: string): Promise<Answered> =>
        send('/api/session', { method: 'POST', body: { userId, password: given } });
      const signedIn = await signIn('keeper', PASSWORD);
      const headers = { ...ours, cookie: signedIn.headers['set-cookie']![0]!.split(';', 1)[0]! };
      secrets.add(headers.cookie.split('=')[1]!);
      await send('/api/users', { method: 'POST', headers, body: { userId: 'ward', password } });
      await signIn('ward', password);
      await signIn('ward', `${CANARY} that is wrong`);
      await signIn(`${CANARY} in the field of the name`, password);
      await send('/api/session', { method: 'POST', body: { userId: 'ward', password: { nested: CANARY } } });
      await send('/api/session', { method: 'POST', body: `{"userId": "ward", "password": "${CANARY}` });
      await send('/api/users', { method: 'POST', headers, body: { userId: 'ward', password: `${CANARY}!` } });
      await send('/api/users/ward', { method: 'PATCH', headers, body: { password: next } });
      await send('/api/setup', { method: 'POST', body: { token: CANARY, userId: 'second', password } });
      await send('/api/session/confirm', { method: 'POST', headers, body: { password: `${CANARY} again` } });
      // Keys: created, used, sent in the wrong place, truncated.
      const made = await sendRequest(`${api.url}/api/keys`, {
        method: 'POST',
        headers,
        body: { name: 'ci' },
      });
      const { key, keyId } = made.body as { key: string; keyId: string };
      secrets.add(key.slice(-43));
      await send('/api/session', { headers: { authorization: `Bearer ${key}` } });
      await send(`/api/session?api_key=${key}`);
      await send(`/api/jobs?nonsense=${key}`, { headers });
      await send(`/api/${key}`);
      await send(`/api/keys/${key.slice(-43)}`, { method: 'DELETE', headers });
      await send('/api/session', { headers: { authorization: `Bearer ${key}x`, cookie: headers.cookie } });
      await send('/api/keys', { headers });
      await send('/api/users', { headers });
      await send(`/api/keys/${keyId}`, { method: 'DELETE', headers });
      // Internal errors are logged with full details.
      await database.query('alter table sign_in_attempts rename to away');
      expect((await signIn('ward', next)).status).toBe(500);
      await database.query('alter table away rename to sign_in_attempts');
      expect(log.join('\n')).toContain('request failed');

      const tables = await database.query<{ name: string }>(
        `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
      );
      const stored: string[] = [];
      for (const { name } of tables)
        stored.push(
          ...(await database.query<{ text: string }>(`select t::text as text from ${name} t`)).map(
            (row) => row.text,
          ),
        );
      for (const secret of [CANARY, ...secrets]) {
        expect(log.filter((line) => line.includes(secret))).toEqual([]);
        expect(stored.filter((row) => row.includes(secret))).toEqual([]);
        expect(answers.filter((answer) => answer.includes(secret))).toEqual([]);
      }
    } finally {
      await api.stop();
    }
  });
});
