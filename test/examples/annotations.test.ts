// The annotations example end to end: its pipeline on a real database and worker, with its counts over the real HTTP
// API compared to a recount by the generator.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRowmill, type Rowmill, type RowmillWorker } from 'rowmill';
import { createClient } from 'rowmill/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { spanAligner } from '../../examples/annotations/align-span.ts';
import { closeStore, openStore } from '../../examples/annotations/annotation-store.ts';
import { generateUploads, type Upload, writeUpload } from '../../examples/annotations/generate-uploads.ts';
import { upload as pipeline } from '../../examples/annotations/pipeline.ts';
import { Recount } from '../../examples/annotations/recount.ts';
import { runCommand } from '../support/run-command.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-annotations-'));
let rowmill: Rowmill;
let workers: RowmillWorker[];
let recount: Recount;

beforeAll(async () => {
  process.env.DATABASE_URL = database.url;
  const settings = { blobStore: join(folder, 'blobs'), pollMaxMs: 100, claimMax: 40 };
  rowmill = await openRowmill({ databaseUrl: database.url, settings });
  workers = [];
  // Two workers, so that both flush the same documents.
  for (let n = 0; n < 2; n += 1) workers.push(await rowmill.startWorker([pipeline], { log: silentLogger }));
});
afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await rowmill.close();
  await closeStore();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  recount = new Recount();
  await openStore();
  await database.query('truncate annotated_documents, current_annotations');
  await database.query(
    'truncate counter_entries, counter_entities, counter_scopes, counter_scope_deltas, counter_contributions',
  );
});

async function submit({ name, mode, lines }: Upload): Promise<string> {
  const path = join(folder, `${name}.jsonl`);
  await writeUpload(path, { name, mode, lines });
  return (await rowmill.submitFile(pipeline, path, { params: { mode }, again: true })).jobId;
}

async function differences(): Promise<string[]> {
  const { url } = await startTestApi(database.url);
  return recount.compare(createClient({ baseUrl: url, validate: true }));
}

async function storedCount(): Promise<number> {
  const [row] = await database.query(`
    select coalesce(sum(jsonb_array_length(list)), 0)::int as stored
    from current_annotations, jsonb_each(annotations) as each (kind, list)`);
  return (row as { stored: number }).stored;
}

const [first, added, replaced] = generateUploads({ documents: 60, seed: 5 }) as [Upload, Upload, Upload];
describe('uploads of annotations', () => {
  it('count the kept annotations, in each mode and on every level', async () => {
    for (const upload of [first, added, replaced]) {
      const { counts, total } = await rowmill.whenFinished(await submit(upload));
      const broken = upload.lines.filter(({ kept }) => kept === null).length;
      expect([total, counts.DONE, counts.ERROR]).toEqual([
        upload.lines.length,
        upload.lines.length - broken,
        broken,
      ]);
      recount.take(upload);
      expect(await differences()).toEqual([]);
      expect(await storedCount()).toBe(recount.size().annotations);
    }
    // Some documents were replaced by empty ones.
    const emptied = replaced.lines.filter(
      ({ kept }) => kept && kept.denotations + kept.blocks + kept.relations === 0,
    );
    expect(emptied.length).toBeGreaterThan(0);
  });

  it('are not counted twice by a rerun, and not at all if their generation is cancelled', async () => {
    await rowmill.whenFinished(await submit(first));
    const jobId = await submit(added);
    await rowmill.whenFinished(jobId);
    for (const upload of [first, added]) recount.take(upload);
    await rowmill.reprocess(jobId, { statuses: 'all' });
    await rowmill.whenFinished(jobId);
    expect(await differences()).toEqual([]);
    await rowmill.reprocess(jobId, { statuses: 'all' });
    await rowmill.cancel(jobId);
    await rowmill.whenFinished(jobId);
    expect(await differences()).toEqual([]);
  });

  it('add up whichever of several concurrent ones is stored first', async () => {
    await rowmill.whenFinished(await submit(first));
    const uploads = [1, 2, 3].map((seed): Upload => {
      const [, each] = generateUploads({ documents: 60, seed });
      return { ...each!, name: `added-${seed}` };
    });
    const jobs = await Promise.all(uploads.map(submit));
    await Promise.all(jobs.map((jobId) => rowmill.whenFinished(jobId)));
    for (const upload of [first, ...uploads]) recount.take(upload);
    expect(await differences()).toEqual([]);
  });

  it('drop annotations outside the text, and report it', async () => {
    const jobId = await submit(first);
    await rowmill.whenFinished(jobId);
    let dropped = 0;
    for await (const { seq, status, result } of rowmill.results(jobId, pipeline)) {
      const { kept } = first.lines[seq]!;
      expect([seq, status]).toEqual([seq, kept === null ? 'ERROR' : 'DONE']);
      if (kept === null) continue;
      const { denotations, blocks, relations } = result!;
      expect([denotations.length, blocks.length, relations.length]).toEqual([
        kept.denotations,
        kept.blocks,
        kept.relations,
      ]);
      dropped += result!.dropped;
    }
    expect(dropped).toBeGreaterThan(0);
  });
});

describe('a differently formatted text', () => {
  const line = (text: string, begin: number, end: number): Upload['lines'][number] => ({
    project: 'P',
    document: 'PMC:1',
    json: {
      project: 'P',
      sourcedb: 'PMC',
      sourceid: '1',
      text,
      denotations: [{ id: 'T1', span: { begin, end }, obj: 'Gene' }],
    },
    kept: { denotations: 1, blocks: 0, relations: 0 },
  });
  const spans = async (): Promise<unknown[]> =>
    (
      await database.query("select annotations->'denotations'->0->'span' as span from current_annotations")
    ).map((row) => (row as { span: unknown }).span);

  it('has its annotations moved to the stored text, and replaced there', async () => {
    const text = 'p53 inhibits cells';
    await rowmill.whenFinished(await submit({ name: 'a', mode: 'add', lines: [line(text, 0, 3)] }));
    const broken = line('p53\n  inhibits\n  cells', 6, 14);
    await rowmill.whenFinished(await submit({ name: 'b', mode: 'replace', lines: [broken] }));
    expect(await spans()).toEqual([{ begin: 4, end: 12 }]);
  });

  it('keeps spans before and after a change, and drops those on it', () => {
    const align = spanAligner('the naive cells grow', 'the naïve  T cells grow');
    expect(align({ begin: 0, end: 3 })).toEqual({ begin: 0, end: 3 });
    expect(align({ begin: 4, end: 9 })).toBe(null);
    expect(align({ begin: 10, end: 15 })).toEqual({ begin: 13, end: 18 });
    expect(align({ begin: 3, end: 4 })).toBe(null);
  });
});

describe('rowmill counters check', () => {
  const check = () => runCommand({ folder, databaseUrl: database.url }, ['counters', 'check', '--json']);

  it('agrees with the recount, and finds a count that is off by one', async () => {
    for (const upload of [first, added, replaced]) {
      await rowmill.whenFinished(await submit(upload));
      recount.take(upload);
    }
    const { pairs } = recount.size();
    const right = await check();
    expect([right.code, right.stderr]).toEqual([0, '']);
    expect(JSON.parse(right.stdout)).toMatchObject({
      ok: true,
      complete: true,
      drifted: [],
      checked: { entries: pairs },
    });
    const { project, document } = first.lines.find(({ kept }) => kept !== null)!;
    await database.query(
      'update counter_entries set measured[1] = measured[1] + 1 where scope = $1 and entity = $2',
      [project, document],
    );
    const wrong = await check();
    expect(wrong.code).not.toBe(0);
    expect(JSON.parse(wrong.stdout)).toMatchObject({ ok: false });
    expect(wrong.stdout).toContain(JSON.stringify(document));
    expect(await differences()).not.toEqual([]);
  });
});

describe('the recount', () => {
  it('finds a count that is off by one, on any level', async () => {
    await rowmill.whenFinished(await submit(first));
    recount.take(first);
    expect(await differences()).toEqual([]);
    const { project, document } = first.lines.find(({ kept }) => kept !== null)!;
    for (const [table, column, value, found] of [
      ['counter_entries', 'entity', document, `of `],
      ['counter_entities', 'entity', document, 'document: '],
      ['counter_scopes', 'scope', project, 'project: '],
    ]) {
      // The scope has no row of its own until its deltas are folded.
      await database.query(
        `insert into counter_scopes (counter_id, owner_id, scope, measured)
         select counter_id, 'local', $1, '{0,0,0}' from counters on conflict do nothing`,
        [project],
      );
      const change = (by: number) =>
        database.query(`update ${table} set measured[1] = measured[1] + ${by} where ${column} = $1`, [value]);
      await change(1);
      const problems = await differences();
      expect(problems.length).toBeGreaterThan(0);
      expect(problems[0]).toContain(found);
      await change(-1);
    }
    expect(await differences()).toEqual([]);
  });
});
