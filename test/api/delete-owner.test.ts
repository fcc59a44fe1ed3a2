// Everything of one owner is exported, and deleted from every table and the blob store; other owners keep theirs.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { deleteOwner } from '../../src/engine/owners/delete-owner.ts';
import { exportOwner } from '../../src/engine/owners/export-owner.ts';
import { defineCounter } from '../../src/core/items/counter.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { newId } from '../../src/platform/random.ts';
import { send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-owner-'));
const blobStore = join(folder, 'blobs');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const seen = defineCounter({ name: 'seen', scope: 'project', entity: 'word', measures: ['times'] });
const pipeline = definePipeline({
  name: 'owned',
  counters: [seen],
  phases: [
    {
      name: 'only',
      retry: { permanent: { maxAttempts: 1 } },
      run: async (row: { word?: unknown }, context) => {
        if (row.word === 'bad') throw new Error('no');
        context.count(seen, { scope: 'one', entity: String(row.word) }, { times: 1 });
        context.log(`saw ${String(row.word)}`);
        return { answer: `${String(row.word)}!` };
      },
    },
  ],
});

/** Tables, and names or contents of blobs, that contain a text. */
async function placesOf(text: string): Promise<string[]> {
  const places: string[] = [];
  const tables = await database.query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  );
  for (const { name } of tables) {
    const found = await database.query(`select 1 from "${name}" t where t::text like $1 limit 1`, [
      `%${text}%`,
    ]);
    if (found.length > 0) places.push(name);
  }
  if (!existsSync(blobStore)) return places;
  for (const entry of readdirSync(blobStore, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    if (path.includes(text) || readFileSync(path).includes(text)) places.push(`blob ${entry.name}`);
  }
  return places;
}

test('an owner is exported and deleted without a trace but the audit log', async () => {
  const api = await startTestApi(database.url, {
    pipelines: [pipeline],
    settings: { blobStore, sweepMs: 60_000, itemTimeoutMs: 10_000 },
  });
  const run = async (owner: string, word: string): Promise<string> => {
    const text = `word\n${word}-a\n${word}-b\nbad\n"${word}\n`;
    const form = uploadForm({ pipeline: 'owned', ownerId: owner, name: `${word}.csv` }, text);
    const { body } = await send(api.url, 'POST', '/api/jobs', form);
    await api.context.background.whenIdle();
    const slice = await send(api.url, 'POST', `/api/jobs/${body.jobId}/slice?durationMs=60000`);
    expect(slice.body.finished).toBe(true);
    return body.jobId as string;
  };
  const [gone, stays] = [`gone-${newId()}`, `stays-${newId()}`];
  const [secret, other] = [`secret${newId().slice(0, 8)}`, `other${newId().slice(0, 8)}`];
  const jobId = await run(gone, secret);
  const otherJobId = await run(stays, other);
  const { engine } = api.context;
  await send(api.url, 'PATCH', `/api/owners/${gone}`, { weight: 2, budgetTotal: 5 });
  await send(api.url, 'POST', `/api/jobs/${jobId}/export`);
  await api.context.background.whenIdle();
  await database.query(
    `insert into webhooks (webhook_id, owner_id, url, host, kinds, secret) values ($1, $2, 'https://x', 'x', '{job.finished}', 's')`,
    [newId(), gone],
  );
  await database.query(
    `insert into uploads (upload_id, owner_id, name, bytes) values ($1, $2, 'part.csv', 10)`,
    [newId(), gone],
  );
  await database.query(`insert into resources (name, key, limits) values ('@owner', $1, '{}')`, [gone]);
  const before = await placesOf(gone);
  expect(before).toEqual(
    expect.arrayContaining([
      'jobs',
      'job_events',
      'owners',
      'uploads',
      'webhooks',
      'counter_entries',
      'resources',
    ]),
  );
  expect((await placesOf(secret)).some((place) => place.startsWith('blob '))).toBe(true);

  const out = join(folder, 'export');
  expect(await exportOwner(engine, gone, out)).toEqual({ jobs: 1, rows: expect.any(Number) });
  expect(JSON.parse(readFileSync(join(out, 'owner.json'), 'utf8'))).toMatchObject({
    ownerId: gone,
    limits: { weight: 2 },
    webhooks: [expect.not.objectContaining({ secret: expect.anything() })],
  });
  const rows = readFileSync(join(out, 'jobs', jobId, 'rows.jsonl'), 'utf8');
  expect(rows).toContain(`${secret}-a!`);
  expect(readFileSync(join(out, 'jobs', jobId, 'file'), 'utf8')).toContain(`${secret}-b`);
  expect(readFileSync(join(out, 'counters.jsonl'), 'utf8')).toContain(`${secret}-a`);
  expect(readFileSync(join(out, 'events.jsonl'), 'utf8')).toContain('job.finished');

  const kept = await placesOf(other);
  expect(await deleteOwner(engine, gone)).toEqual({ jobs: 1 });
  expect(await placesOf(gone)).toEqual(['audit']);
  expect(await placesOf(jobId)).toEqual(['audit']);
  expect((await placesOf(secret)).filter((place) => place !== 'audit')).toEqual([]);
  expect(await placesOf(other)).toEqual(kept);
  expect((await send(api.url, 'GET', `/api/jobs/${otherJobId}`)).status).toBe(200);
  const actions = await database.query<{ action: string }>(
    `select action from audit where subject = $1 order by audit_id`,
    [`owner ${gone}`],
  );
  expect(actions.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['owner.set', 'owner.export', 'owner.delete']),
  );
});

test('an owner with an unfinished job is not deleted', async () => {
  const context = database.context();
  const owner = `busy-${newId()}`;
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, name, state) values ($1, $2, 'owned', '{only}', '', 'RUNNING')`,
    [newId(), owner],
  );
  await expect(deleteOwner(context, owner)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
  expect(await placesOf(owner)).toEqual(['jobs']);
});
