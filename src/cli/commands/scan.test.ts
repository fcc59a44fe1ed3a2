// rowmill sources scan and rowmill sources watch in this process, on a real folder and a real database.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { takeWholeFile } from '../../../test/support/take-whole-file.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type CreateTakeFile, type ScanOptions, runScan, watchSourcesUntilStopped } from './scan.ts';

const database = useTestDatabase();
const takeWhole: CreateTakeFile = (context) => takeWholeFile(context);
let folder: string;
let lines: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-scan-cli-'));
  lines = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
  // The package itself may not be built yet: a pipeline is recognised by its shape.
  const definePipeline = new URL('../../pipeline/define-pipeline.ts', import.meta.url).pathname;
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from ${JSON.stringify(definePipeline)};
     export const watched = definePipeline({ name: 'watched', phases: [{ name: 'only', run: async () => ({}) }] });`,
  );
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function options(sources: object[], more: Partial<ScanOptions> = {}): ScanOptions {
  const config = join(folder, 'rowmill.json');
  writeFileSync(
    config,
    JSON.stringify({ sources: sources.map((each) => ({ kind: 'folder', pipeline: 'watched', ...each })) }),
  );
  return { config, databaseUrl: database.url, dataDir: folder, ...more };
}

it('scan takes all files, even just written ones, and prints a line per file and a total', async () => {
  const inbox = mkdtempSync(join(folder, 'in-'));
  writeFileSync(join(inbox, 'a.csv'), 'x');
  writeFileSync(join(inbox, 'bad\u001b[31m.csv'), 'y');
  const failing: CreateTakeFile = (context) =>
    takeWholeFile(context, {
      beforeJob: (file) =>
        file.name === 'a.csv' ? undefined : Promise.reject(new RowmillError('FILE_INVALID', 'no header')),
    });
  const given = options([{ name: 'cli-a', path: inbox, stableMs: 100 }]);
  expect(await runScan([join(folder, 'pipeline.ts')], given, failing)).toBe(0);
  expect(lines.sort()).toEqual([
    expect.stringMatching(/^cli-a: a\.csv became job [0-9a-f-]{36}$/),
    'cli-a: bad.csv failed: no header',
    'cli-a: found 2, taken 1, waiting 0, failed 1, skipped 0, errors 0',
  ]);
  expect(readdirSync(join(inbox, '.done'))).toEqual(['a.csv']);
});

it('scan exits with 1 if a source fails, after taking the files of the others', async () => {
  const inbox = mkdtempSync(join(folder, 'in-'));
  writeFileSync(join(inbox, 'a.csv'), 'x');
  const given = options(
    [
      { name: 'cli-broken', path: join(folder, 'nowhere') },
      { name: 'cli-good', path: inbox, stableMs: 0 },
    ],
    { json: true },
  );
  expect(await runScan([join(folder, 'pipeline.ts')], given, takeWhole)).toBe(1);
  const events = lines.map((line) => JSON.parse(line));
  expect(events).toContainEqual({
    event: 'error',
    source: 'cli-broken',
    error: expect.stringContaining('[SOURCE_UNAVAILABLE]'),
  });
  expect(events).toContainEqual(
    expect.objectContaining({ event: 'taken', source: 'cli-good', path: 'a.csv' }),
  );
  expect(events.at(-1)).toEqual({
    event: 'finished',
    sources: [
      { name: 'cli-broken', ok: false },
      { name: 'cli-good', ok: true, found: 1, taken: 1, waiting: 0, failed: 0, skipped: 0, errors: 0 },
    ],
  });
});

it('refuses a source whose pipeline is not in the modules', async () => {
  const given = options([{ name: 'cli-x', path: folder, pipeline: 'other' }]);
  await expect(runScan([join(folder, 'pipeline.ts')], given, takeWhole)).rejects.toMatchObject({
    code: 'PIPELINE_NOT_FOUND',
    message: 'the source cli-x names the pipeline other; the modules have watched',
  });
});

it('watch takes files as they appear until it is stopped', async () => {
  const inbox = mkdtempSync(join(folder, 'in-'));
  writeFileSync(join(inbox, 'a.csv'), 'x');
  const stopping: CreateTakeFile = (context) => {
    context.events.on('source.file_taken', () => void process.emit('SIGTERM', 'SIGTERM'));
    return takeWholeFile(context);
  };
  const given = options([{ name: 'cli-watch', path: inbox, stableMs: 0, pollMs: 50 }]);
  expect(await watchSourcesUntilStopped([join(folder, 'pipeline.ts')], given, stopping)).toBe(0);
  expect(lines).toContainEqual(expect.stringMatching(/^cli-watch: a\.csv became job/));
  expect(readdirSync(join(inbox, '.done'))).toEqual(['a.csv']);
});
