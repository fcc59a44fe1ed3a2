// Files with names and values that PostgreSQL cannot store, and jobs whose file fails in an unforeseen way: no job
// stays open forever, and no file keeps others from being read.
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import type { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { readJob } from '../store/views/jobs/read-job.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import { ingestJob } from './ingest-job.ts';
import { resumeIngests } from './ingest-resumer.ts';
import { submitFile } from './submit-file.ts';

const database = useTestDatabase();
const plain = definePipeline({ name: 'plain', phases: [{ name: 'only', run: () => null }] });

async function submit(context: EngineContext, text: string | Buffer, name = 'rows.csv'): Promise<string> {
  const file = { kind: 'upload', name, bytes: Readable.from([Buffer.from(text)]) };
  return (await submitFile(context, plain, file)).jobId;
}

const inputsOf = async (jobId: string) =>
  (
    await database.query<{ input: Record<string, unknown> }>(
      'select input from items where job_id = $1 order by seq',
      [jobId],
    )
  ).map(({ input }) => input);
const rejectedOf = (jobId: string) =>
  database.query('select line::int, reason from rejected_rows where job_id = $1 order by ordinal', [jobId]);

describe('a name that PostgreSQL cannot store', () => {
  it.each([
    ['NUL', Buffer.from('id,na\0me\n1,a\n2,b\n')],
    ['half a surrogate pair', Buffer.from('id,na\ud800me\n1,a\n2,b\n', 'utf16le')],
  ])('in a header becomes U+FFFD there: %s', async (_, text) => {
    const context = database.context();
    const jobId = await submit(context, text);
    expect(await ingestJob(context, jobId, plain)).toBe(true);
    expect(await inputsOf(jobId)).toEqual([
      { id: '1', 'na\ufffdme': 'a' },
      { id: '2', 'na\ufffdme': 'b' },
    ]);
    expect((await readJob(context.db, jobId))!.inputColumns).toEqual([
      { key: 'id', header: 'id' },
      { key: 'na\ufffdme', header: 'na\ufffdme' },
    ]);
  });

  it('in a title above the header does not refuse the file', async () => {
    const context = database.context();
    const jobId = await submit(context, 'Report\0 of May\n\nid,name,price\n1,a,2.5\n2,b,3.5\n3,c,1.5\n');
    expect(await ingestJob(context, jobId, plain)).toBe(true);
    expect((await readJob(context.db, jobId))!.source!.detected.preamble).toContain('Report\ufffd of May');
    expect(await inputsOf(jobId)).toHaveLength(3);
  });

  it('in a JSON key becomes U+FFFD, and stays one column when the file is resumed', async () => {
    const text = '{"a\\u0000b":1,"\\ud800":2}\n{"a\\u0000b":3}\n{"a\\u0000b":4}\n';
    const context = database.context({ ingestMinRows: 1, ingestMaxRows: 1 });
    const jobId = await submit(context, text, 'rows.jsonl');
    const stop = new AbortController();
    context.events.on('ingest.batch', () => stop.abort());
    expect(await ingestJob(context, jobId, plain, stop.signal)).toBe(false);
    expect(await ingestJob(database.context(), jobId, plain)).toBe(true);
    expect(await inputsOf(jobId)).toEqual([
      { 'a\ufffdb': 1, '\ufffd': 2 },
      { 'a\ufffdb': 3 },
      { 'a\ufffdb': 4 },
    ]);
    expect((await readJob(context.db, jobId))!.inputColumns.map(({ key }) => key)).toEqual([
      'a\ufffdb',
      '\ufffd',
    ]);
  });
});

describe('JSON that is nested too deeply', () => {
  it.each([1001, 5000, 100_000])('rejects its row, and reading continues: %i levels', async (depth) => {
    const context = database.context();
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const jobId = await submit(context, `{"a":1}\n{"a":${deep}}\n{"a":3}\n`, 'rows.jsonl');
    expect(await ingestJob(context, jobId, plain)).toBe(true);
    expect(await inputsOf(jobId)).toEqual([{ a: 1 }, { a: 3 }]);
    expect(await rejectedOf(jobId)).toEqual([{ line: 2, reason: 'nested deeper than 1000 levels' }]);
  });
});

describe('a file that fails in an unforeseen way', () => {
  it('does not keep the others from being read', async () => {
    const context = database.context();
    const first = await submit(context, 'a,b\n1,2\n', 'first.csv');
    const second = await submit(context, 'a,b\n3,4\n', 'second.csv');
    await database.query(`update jobs set created_at = now() - interval '1 day' where job_id = any($1)`, [
      [first, second],
    ]);
    const { blobs } = context;
    const broken: EngineContext = {
      ...context,
      blobs: new Proxy(blobs, {
        get(target, name) {
          if (name !== 'withLocalFile') return Reflect.get(target, name, target) as unknown;
          return async (key: string, work: (path: string) => Promise<unknown>) => {
            const source = (await readJob(context.db, first))!.source!;
            if (key === source.blobKey) throw new TypeError('a mistake of ours');
            return target.withLocalFile(key, work);
          };
        },
      }),
    };
    await expect(resumeIngests(broken, [plain])).rejects.toThrow('a mistake of ours');
    expect((await readJob(context.db, second))!.sealedAt).not.toBeNull();
    expect((await readJob(context.db, first))!.state).toBe('INGESTING');
  });

  it('fails the job with the reason if reading again cannot help', async () => {
    const context = database.context();
    const jobId = await submit(context, 'a,b\n1,2\n');
    await database.query(`
      create function refuse_item() returns trigger language plpgsql as $$
        begin raise exception 'no such character' using errcode = '22P05'; end $$`);
    await database.query(`create trigger refuse_item before insert on items for each row
      when (new.job_id = '${jobId}') execute function refuse_item()`);
    const failed = (await ingestJob(context, jobId, plain).catch((error: unknown) => error)) as RowmillError;
    expect(failed.code).toBe('FILE_INVALID');
    expect(await readJob(context.db, jobId)).toMatchObject({
      state: 'FAILED',
      lastError: 'a row of the file cannot be stored: no such character',
    });
  });
});
