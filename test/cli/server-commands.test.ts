// Webhooks and accounts of a real server, from the command line.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { addUser, keyHeaders } from '../support/account-factory.ts';
import { type EndedCommand, runCommand } from '../support/run-command.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-server-commands-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Run = (args: string[], input?: string) => Promise<EndedCommand>;

async function startServer(): Promise<{ run: Run; json: (...args: string[]) => Promise<never> }> {
  const api = await startTestApi(database.url, {
    settings: {
      ...{ authentication: 'password', blobStore: join(folder, 'blobs'), webhookAllow: '127.0.0.0/8' },
    },
  });
  const admin = `admin-${newId().slice(0, 8)}`;
  await addUser(database, admin, { role: 'admin' });
  const { authorization } = await keyHeaders(database, admin, ['read', 'write', 'export', 'admin']);
  const environment = {
    ROWMILL_API: api.url,
    ROWMILL_API_KEY: authorization.replace('Bearer ', ''),
    XDG_CONFIG_HOME: join(folder, 'nobody'),
  };
  const run: Run = (args, input = '') => runCommand({ folder, environment, input }, args);
  return { run, json: async (...args) => JSON.parse((await run([...args, '--json'])).stdout) as never };
}

test('webhooks are added, shown, tested, delivered again and removed', async () => {
  const { run, json } = await startServer();
  // Nothing listens there, so the test message fails and can be sent again.
  const added = await run(['webhooks', 'add', 'http://127.0.0.1:1/hook', '--events', 'job.failed']);
  expect(added.stdout).toMatch(/^whsec_\S+\n$/);
  const webhookId = /[0-9a-f-]{36}/.exec(added.stderr)![0];
  expect(await json('webhooks')).toMatchObject([{ webhookId, kinds: ['job.failed'], state: 'ACTIVE' }]);
  expect((await run(['webhooks', 'show', webhookId])).stdout).toContain('Events: job.failed');
  const tested = await run(['webhooks', 'test', webhookId]);
  expect([tested.code, tested.stdout]).toEqual([1, expect.stringMatching(/^Delivery [0-9a-f-]{36} of /)]);
  const deliveries: { deliveryId: string }[] = await json('webhooks', 'deliveries', webhookId, '-n', '5');
  const again = await run(['webhooks', 'redeliver', webhookId, deliveries[0]!.deliveryId]);
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining(deliveries[0]!.deliveryId)]);
  const shown = await run(['webhooks', 'delivery', webhookId, deliveries[0]!.deliveryId]);
  expect(shown.stdout).toContain('"type":"webhook.test"');
  expect(shown.stdout).toMatch(/Attempt 1, .*ECONNREFUSED/);
  const refused = await run(['webhooks', 'remove', webhookId]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('[NOT_CONFIRMED]')]);
  expect((await run(['webhooks', 'remove', webhookId, '-y'])).stdout).toBe(
    `Webhook ${webhookId} is removed\n`,
  );
  expect(await json('webhooks')).toEqual([]);
});

test('people are added with a password from standard input, changed, removed and enabled again', async () => {
  const { run, json } = await startServer();
  const name = `ann-${newId().slice(0, 8)}`;
  const added = await run(['people', 'add', name, '--role', 'viewer'], 'quiet lemon harbour 42\n');
  expect([added.code, added.stderr, added.stdout]).toEqual([0, '', `${name}: viewer, active\n`]);
  expect((await run(['people', 'set', name, '--role', 'member'])).stdout).toBe(`${name}: member, active\n`);
  expect((await run(['people', 'remove', name])).stderr).toContain('[NOT_CONFIRMED]');
  expect((await run(['people', 'remove', name, '--yes'])).stdout).toBe(`${name}: member, disabled\n`);
  const listed: { userId: string }[] = await json('people', 'list');
  expect(listed.find(({ userId }) => userId === name)).toMatchObject({ role: 'member', disabled: true });
  expect((await run(['people', 'set', name, '--enable'])).stdout).toBe(`${name}: member, active\n`);
});
