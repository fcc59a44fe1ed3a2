// Every format end to end: from a local file through the blob store to items, read twice (once to detect, once to
// store), and images to handlers that open them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { png } from '../../test/support/image-writer.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { whenFinished } from '../../test/support/when-finished.ts';
import { writeWorkbook } from '../../test/support/workbook-writer.ts';
import { writeZip } from '../../test/support/zip-writer.ts';
import { definePipeline, openRowmill } from '../index.ts';
import { ingestJob } from './ingest-job.ts';
import { submitPaths } from './submit-paths.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-paths-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pipeline = definePipeline({ name: 'paths', phases: [{ name: 'only', run: () => null }] });

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function inputsOf(...paths: string[]): Promise<{ inputs: unknown[]; rejected: number }> {
  const context = database.context();
  const { jobId } = await submitPaths(context, pipeline, paths, { again: true });
  expect(await ingestJob(context, jobId, pipeline)).toBe(true);
  const rows = await database.query<{ input: unknown }>(
    'select input from items where job_id = $1 order by seq',
    [jobId],
  );
  const rejected = await database.query('select 1 from rejected_rows where job_id = $1', [jobId]);
  return { inputs: rows.map((row) => row.input), rejected: rejected.length };
}

const rows = [
  { a: '1', b: 'x' },
  { a: '2', b: 'ü' },
];
const csv = 'a;b\n1;x\n2;ü\n';

describe('a file becomes items', () => {
  it.each([
    ['CSV', () => file('plain.txt', csv), rows],
    ['CSV in windows-1252', () => file('latin.csv', Buffer.from(csv, 'latin1')), rows],
    ['CSV in gzip', () => file('rows.csv.gz', gzipSync(csv)), rows],
    ['CSV in zip', () => file('rows.zip', writeZip([{ name: 'inner.csv', data: csv }])), rows],
    ['JSON lines', () => file('rows.jsonl', '{"a":1}\n{"a":2}\n'), [{ a: 1 }, { a: 2 }]],
    ['JSON lines in gzip', () => file('rows.jsonl.gz', gzipSync('{"a":1}\n{"a":2}\n')), [{ a: 1 }, { a: 2 }]],
    ['a JSON array', () => file('rows.json', '[{"a":1},\n {"a":2}]'), [{ a: 1 }, { a: 2 }]],
    [
      'URLs',
      () => file('list.txt', 'https://a.example/1\nhttps://a.example/2\n'),
      [{ url: 'https://a.example/1' }, { url: 'https://a.example/2' }],
    ],
  ])('from %s', async (_, write, expected) => {
    expect(await inputsOf(write())).toEqual({ inputs: expected, rejected: 0 });
  });

  it('from a workbook, also from a sheet whose name is a number', async () => {
    for (const name of ['Rows', '7']) {
      const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
      const data = ['ab', '1x', '2ü'].map(([a, b]) => `<row>${cell(a!)}${cell(b!)}</row>`).join('');
      const workbook = writeWorkbook({
        sheets: [
          { name: 'Empty', data: '' },
          { name, data },
        ],
      });
      expect(await inputsOf(file(`${name}.xlsx`, workbook))).toEqual({ inputs: rows, rejected: 0 });
    }
  });

  it('but not if it does not exist', async () => {
    await expect(inputsOf(join(folder, 'nothing.csv'))).rejects.toMatchObject({ code: 'FILE_INVALID' });
  });
});

describe('images become items', () => {
  const red = png(3, 2);
  const wide = png(9, 1);
  const images = [
    { file: 'red.png', type: 'png', width: '3', height: '2' },
    { file: 'wide.png', type: 'png', width: '9', height: '1' },
  ];

  it.each([
    [
      'a zip',
      () => [
        file(
          'photos.zip',
          writeZip([
            { name: 'red.png', data: red },
            { name: 'wide.png', data: wide },
          ]),
        ),
      ],
    ],
    ['several files', () => [file('red.png', red), file('wide.png', wide)]],
    [
      'a folder',
      () => {
        const photos = join(folder, 'photos');
        mkdirSync(photos);
        writeFileSync(join(photos, 'red.png'), red);
        writeFileSync(join(photos, 'wide.png'), wide);
        return [photos];
      },
    ],
  ])('from %s', async (_, write) => {
    const { inputs } = await inputsOf(...write());
    expect(inputs).toMatchObject(images);
  });

  it('from one file, and files that are not images are rejected', async () => {
    expect((await inputsOf(file('red.png', red))).inputs).toMatchObject([images[0]]);
    expect(await inputsOf(file('red.png', red), file('text.png', 'no image'))).toMatchObject({ rejected: 1 });
  });

  it('but not if none of the files is an image: several files of rows are refused', async () => {
    const empty = join(folder, 'nothing-in-it');
    mkdirSync(empty);
    for (const paths of [[file('one.csv', csv), file('two.csv', csv)], [empty]]) {
      await expect(inputsOf(...paths)).rejects.toMatchObject({
        code: 'FILE_UNSUPPORTED',
        message: `expected images, but none of the ${paths.length === 2 ? 2 : 0} files is one`,
      });
    }
  });

  it('and handlers open them', async () => {
    const measure = definePipeline({
      name: 'measure',
      phases: [
        {
          name: 'only',
          run: async (row, { openFile }) => {
            let bytes = 0;
            for await (const chunk of await openFile(String(row.blob))) bytes += (chunk as Buffer).length;
            return { bytes };
          },
        },
      ],
    });
    const rowmill = await openRowmill({ databaseUrl: database.url });
    const { jobId } = await rowmill.submitFile(measure, [file('red.png', red), file('wide.png', wide)]);
    const worker = await rowmill.startWorker([measure]);
    await whenFinished(rowmill, jobId);
    await worker.stop();
    const results: unknown[] = [];
    for await (const { result } of rowmill.results(jobId)) results.push(result);
    await rowmill.close();
    expect(results).toEqual([{ bytes: red.length }, { bytes: wide.length }]);
  });
});
