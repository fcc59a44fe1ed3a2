// Watching real folders: sources are polled independently, and stopping releases the files in progress.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type TakeHooks, takeWholeFile } from '../../../test/support/take-whole-file.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { newId } from '../../platform/random.ts';
import { FolderSource } from './folder-source.ts';
import { watchSources } from './watch-sources.ts';

const database = useTestDatabase();
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-watch-'));
  folders.push(folder);
  return folder;
}

function watched(context: ReturnType<typeof database.context>, path: string, hooks: TakeHooks = {}) {
  const config = {
    name: `w-${newId().slice(0, 8)}`,
    kind: 'folder' as const,
    pipeline: 'watched',
    path,
    pollMs: 50,
  };
  return { config, adapter: new FolderSource(config, 0), takeFile: takeWholeFile(context, hooks) };
}

it('takes files as they appear, although another source cannot be read', async () => {
  const context = database.context();
  const folder = makeFolder();
  const broken = watched(context, join(folder, 'nowhere'));
  const good = watched(context, folder);
  const failed = context.events.next('source.scan_failed', ({ source }) => source === broken.config.name);
  const watch = watchSources(context, [broken, good]);
  watch.start();
  for (const name of ['a.csv', 'b.csv']) {
    const taken = context.events.next('source.file_taken');
    writeFileSync(join(folder, name), name);
    expect(await taken).toMatchObject({ source: good.config.name, path: name });
  }
  await failed;
  await watch.stop();
});

it('reports one round over all sources', async () => {
  const context = database.context();
  const folder = makeFolder();
  const [broken, good] = [watched(context, join(folder, 'nowhere')), watched(context, folder)];
  writeFileSync(join(folder, 'a.csv'), 'x');
  const reports = await watchSources(context, [broken, good]).runOnce();
  expect(reports.get(broken.config.name)).toBeNull();
  expect(reports.get(good.config.name)).toMatchObject({ found: 1, taken: 1 });
});

it('releases the file in progress when it is stopped, and starts no other', async () => {
  const context = database.context();
  const folder = makeFolder();
  for (const name of ['a.csv', 'b.csv']) writeFileSync(join(folder, name), name);
  const started: string[] = [];
  let stopped: Promise<void> | undefined;
  const source = watched(context, folder, {
    whileReading: (file) => {
      started.push(file.name);
      stopped = watch.stop();
    },
  });
  const watch = watchSources(context, [source]);
  await watch.runOnce();
  await stopped;
  expect(started).toHaveLength(1);
  const rows = await database.query('select state, token from source_files where source = $1', [
    source.config.name,
  ]);
  expect(rows).toEqual([{ state: 'taken', token: null }]);

  const next = watchSources(context, [{ ...source, takeFile: takeWholeFile(context) }]);
  expect((await next.runOnce()).get(source.config.name)).toMatchObject({ taken: 2 });
  expect(readdirSync(join(folder, '.done')).sort()).toEqual(['a.csv', 'b.csv']);
});
