// Resource keys come from rows, so only owners whose rows used them see them. Sources without an owner are for
// administrators only.
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sampleResources } from '../../src/engine/services/resource-sampler.ts';
import { definePipeline, resource } from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { capturedLog, type LogEntry } from '../../src/testing/captured-log.ts';
import { addUser, keyHeaders } from '../support/account-factory.ts';
import { type Answer, send } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const calling = definePipeline({
  name: 'calling',
  input: z.object({ host: z.string() }),
  resources: { shop: { concurrency: 5 } },
  phases: [{ name: 'call', resources: [resource('shop', ({ host }) => host)], run: () => ({}) }],
});

type Person = (method: string, path: string, body?: unknown) => Promise<Answer>;

async function addPerson(url: string, role: 'member' | 'admin', scopes: string[]): Promise<[string, Person]> {
  const userId = `u${newId()}`;
  await addUser(database, userId, { role });
  const headers = await keyHeaders(database, userId, scopes);
  return [userId, (method, path, body) => send(url, method, path, body, headers)];
}

test('hides resource keys and owner names from other owners', async () => {
  const { url, context } = await startTestApi(database.url, {
    pipelines: [calling],
    settings: { authentication: 'password' },
  });
  const [ada, asAda] = await addPerson(url, 'member', ['read', 'write']);
  const [, asBob] = await addPerson(url, 'member', ['read', 'write']);
  const [, asWeakAdmin] = await addPerson(url, 'admin', ['read']);
  const [, asAdmin] = await addPerson(url, 'admin', ['read', 'admin']);
  // An owner with a limit is also a resource.
  await database.query('insert into owners (owner_id, max_in_flight) values ($1, 3)', [ada]);
  const [hers, his] = [`${newId()}.example`, `${newId()}.example`];
  const run = async (person: Person, host: string): Promise<string> => {
    const made = await person('POST', '/api/jobs', { pipeline: 'calling', items: [{ host }] });
    const { jobId } = made.body;
    await person('POST', `/api/jobs/${jobId}/slice?durationMs=1000`);
    return jobId;
  };
  const herJob = await run(asAda, hers);
  const hisJob = await run(asBob, his);
  await sampleResources(context.engine);

  const keysOf = async (person: Person, query: string): Promise<string[]> => {
    const { body } = await person('GET', `/api/resources?${query}`);
    return body.items.map((each: { key: string }) => each.key).filter((key: string) => key !== '');
  };
  expect(await keysOf(asAda, 'name=shop')).toEqual([hers]);
  expect(await keysOf(asBob, 'name=shop')).toEqual([his]);
  expect(await keysOf(asBob, 'limit=1000')).toEqual([his]);
  expect(await keysOf(asAda, 'name=@owner')).toEqual([ada]);
  expect(await keysOf(asBob, 'name=@owner')).toEqual([]);
  expect(await keysOf(asWeakAdmin, 'name=shop')).toEqual([]);
  expect(await keysOf(asAdmin, 'name=shop')).toEqual(expect.arrayContaining([hers, his]));

  const limitsOf = async (person: Person, jobId: string): Promise<string[]> =>
    (await person('GET', `/api/jobs/${jobId}`)).body.limits.map((each: { key: string }) => each.key);
  expect(await limitsOf(asAda, herJob)).toEqual([hers]);
  expect(await limitsOf(asBob, hisJob)).toEqual([his]);

  const pointsOf = async (person: Person, key: string): Promise<number> =>
    (await person('GET', `/api/resources/shop/history?key=${key}`)).body.points.length;
  expect(await pointsOf(asAda, hers)).toBe(1);
  expect(await pointsOf(asBob, hers)).toBe(0);
});

test('shows a source without an owner only to administrators, and logs that at startup', async () => {
  const entries: Pick<LogEntry, 'level' | 'message' | 'fields'>[] = [];
  const { url } = await startTestApi(database.url, {
    pipelines: [calling],
    settings: { authentication: 'password' },
    sources: [{ name: 'open', kind: 'folder', pipeline: 'calling', path: tmpdir() }],
    log: capturedLog((entry) => entries.push(entry), null),
  });
  expect(entries).toContainEqual(
    expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ sources: ['open'] }) }),
  );
  const [, asMember] = await addPerson(url, 'member', ['read', 'write']);
  const [, asAdmin] = await addPerson(url, 'admin', ['read', 'admin']);
  expect((await asMember('GET', '/api/sources')).body.items).toEqual([]);
  expect((await asAdmin('GET', '/api/sources')).body.items).toHaveLength(1);
  const preview = { pipeline: 'calling', source: { name: 'open', path: 'rows.csv' } };
  expect((await asMember('POST', '/api/jobs/preview', preview)).body.code).toBe('SOURCE_NOT_FOUND');
});
