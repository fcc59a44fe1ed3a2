// Counter totals on the event stream: each stream gets only changes, and only of its own owners.
import { afterEach, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import { type CounterEvent, counterEvent } from '../../src/contract/events.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { foldCounters } from '../../src/engine/services/counter-folder.ts';
import { addTeam, addUser, sessionHeaders } from '../support/account-factory.ts';
import { addCounted } from '../support/counter-factory.ts';
import { type EventClient, listen } from '../support/event-client.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const quick = { streamProgressMs: 50, streamHeartbeatMs: 200 };
const clients: EventClient[] = [];
let count = 0;

beforeAll(async () => {
  await addTeam(database, '@team');
  await addUser(database, 'ada', { teamId: '@team' });
  await addUser(database, 'eve');
  await addUser(database, 'root', { role: 'admin' });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await database.query(
    'truncate counters, counter_entries, counter_entities, counter_scopes, counter_scope_deltas',
  );
});

async function add(ownerId: string, notes: number, counter = 'notes'): Promise<void> {
  count += 1;
  await addCounted(database, { counter, measures: ['notes', 'links'] }, [
    { ownerId, scope: `p${count % 3}`, entity: `d${count}`, measured: [notes, 1] },
  ]);
}

async function follow(url: string, headers: Record<string, string> = {}): Promise<EventClient> {
  const client = await listen(url, headers);
  clients.push(client);
  return client;
}

function told({ events }: EventClient): CounterEvent[] {
  return events
    .filter(({ event }) => event === 'counter')
    .map(({ data }) => counterEvent.parse(JSON.parse(data)));
}

function notes(client: EventClient, counter = 'notes'): number | undefined {
  return told(client)
    .filter((event) => event.counter === counter)
    .at(-1)?.total.notes;
}

test('a stream sends the total at its start and after every change, and nothing twice', async () => {
  await add('local', 5);
  const { url, context } = await startTestApi(database.url, { settings: quick });
  const client = await follow(`${url}/api/events`);
  await client.until(() => notes(client) === 5);
  expect(told(client)).toEqual([
    { counter: 'notes', total: { notes: 5, links: 1 }, updatedAt: expect.any(String) },
  ]);
  await add('local', 7);
  await client.until(() => notes(client) === 12);
  // Folding moves numbers without changing the totals.
  await foldCounters(context.engine);
  await add('local', 3, 'others');
  await client.until(() => notes(client, 'others') === 3);
  await add('local', 1);
  await client.until(() => notes(client) === 13);
  const texts = told(client).map((event) => JSON.stringify(event));
  expect(new Set(texts).size).toBe(texts.length);
  expect(client.events.filter(({ event }) => event === 'counter').every(({ id }) => id === undefined)).toBe(
    true,
  );
});

test('a resumed stream sends the total again', async () => {
  await add('local', 5);
  const { url } = await startTestApi(database.url, { settings: quick });
  const first = await follow(`${url}/api/events`);
  await first.until(() => notes(first) === 5);
  first.close();
  await add('local', 2);
  const second = await follow(`${url}/api/events?lastEventId=${first.events[0]!.id}`);
  await second.until(() => notes(second) === 7);
});

test('a stream sends counters of the caller and the team, and those of all owners to an administrator on request', async () => {
  await add('ada', 1);
  const { url } = await startTestApi(database.url, { settings: { ...quick, authentication: 'password' } });
  const as = async (userId: string, query = '') =>
    follow(`${url}/api/events${query}`, await sessionHeaders(database, userId));
  const [ada, eve, root, all] = [
    await as('ada'),
    await as('eve'),
    await as('root'),
    await as('root', '?all=true'),
  ];
  await ada.until(() => notes(ada) === 1);
  await all.until(() => notes(all) === 1);
  await add('@team', 10);
  await ada.until(() => notes(ada) === 11);
  await add('eve', 100);
  await eve.until(() => notes(eve) === 100);
  await all.until(() => notes(all) === 111);
  await add('root', 1000);
  await root.until(() => notes(root) === 1000);
  await all.until(() => notes(all) === 1111);
  const values = (client: EventClient) => new Set(told(client).map(({ total }) => total.notes));
  expect(values(eve)).toEqual(new Set([100]));
  expect(values(root)).toEqual(new Set([1000]));
  expect([...values(ada)].every((value) => value === 1 || value === 11)).toBe(true);
});

test('the stream of a job sends no counters', async () => {
  await add('local', 5);
  const { url, context } = await startTestApi(database.url, { settings: quick });
  const { jobId } = await createJob(context.engine, { pipeline: 'test', phases: ['only'], ownerId: 'local' });
  const [ofJob, ofAll] = [await follow(`${url}/api/jobs/${jobId}/events`), await follow(`${url}/api/events`)];
  await ofJob.until(() => ofJob.events.some(({ event }) => event === 'progress'));
  await ofAll.until(() => notes(ofAll) === 5);
  await add('local', 1);
  await ofAll.until(() => notes(ofAll) === 6);
  expect(told(ofJob)).toEqual([]);
});

test('the client passes them on', async () => {
  await add('local', 5);
  const { url } = await startTestApi(database.url, { settings: quick });
  for await (const event of createClient({ baseUrl: url }).events()) {
    if (event.type !== 'counter') continue;
    expect(event).toMatchObject({ counter: 'notes', total: { notes: 5, links: 1 } });
    break;
  }
});
