// Scans of a real folder with a real database: each file becomes one job, whatever happens on the way.
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFolderPoller } from '../../../test/support/folder-poller.ts';
import { sha256Of, type TakeHooks, takeWholeFile } from '../../../test/support/take-whole-file.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { withMethods } from '../../../test/support/with-methods.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import type { Settings } from '../../platform/settings.ts';
import { claimSourceFile } from '../../store/commands/files/source-file-lease.ts';
import { FolderSource } from './folder-source.ts';
import { MAX_TRIES, type ScanReport, scanSource } from './scan-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { FolderSourceConfig } from './source-config.ts';

const database = useTestDatabase();
const NEVER = new AbortController().signal;
const NOTHING: ScanReport = { found: 0, taken: 0, waiting: 0, failed: 0, skipped: 0, errors: 0 };
let root: string;
let source: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rowmill-scan-'));
  source = `source-${newId().slice(0, 8)}`;
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const poller = (settings: Partial<Settings> = {}) =>
  openFolderPoller(database.context(settings), source, root);

function put(name: string, content = name): void {
  writeFileSync(join(root, name), content);
}

const files = (folder: string): string[] => readdirSync(join(root, folder)).sort();
const offered = (): string[] =>
  readdirSync(root)
    .filter((name) => !name.startsWith('.'))
    .sort();
const jobs = () =>
  database.query<{ name: string; sha256: string; job_id: string }>(
    `select name, params ->> 'sha256' as sha256, job_id from jobs where params ->> 'source' = $1 order by name, job_id`,
    [source],
  );
const rows = () =>
  database.query<{
    path: string;
    state: string;
    reason: string | null;
    token: string | null;
    job_id: string | null;
  }>('select path, state, reason, token, job_id from source_files where source = $1 order by path', [source]);
const expireLeases = () =>
  database.query(
    `update source_files set expires_at = now() - interval '1 s' where source = $1 and token is not null`,
    [source],
  );

describe('a file', () => {
  it('becomes a job and moves to .done', async () => {
    put('a.csv', 'content');
    const { scan, events } = poller();
    expect(await scan()).toEqual({ ...NOTHING, found: 1, taken: 1 });
    const [job] = await jobs();
    expect(job).toMatchObject({ name: 'a.csv', sha256: sha256Of('content') });
    expect(await rows()).toEqual([
      { path: 'a.csv', state: 'done', reason: null, token: null, job_id: job!.job_id },
    ]);
    expect(files('.done')).toEqual(['a.csv']);
    expect(events).toMatchObject([
      { name: 'source.file_taken', source, path: 'a.csv', bytes: 7, jobId: job!.job_id },
    ]);
    expect(await scan()).toEqual(NOTHING);
  });

  it('with the same name but other content is another job', async () => {
    const { scan } = poller();
    put('a.csv', 'monday');
    await scan();
    put('a.csv', 'tuesday');
    await scan();
    expect((await jobs()).map((job) => job.sha256).sort()).toEqual(
      [sha256Of('monday'), sha256Of('tuesday')].sort(),
    );
    expect(files('.done')).toEqual(['a-2.csv', 'a.csv']);
  });

  it('that can never be read fails with its reason beside it, and is not offered again', async () => {
    put('a.csv');
    const { scan, events } = poller();
    const report = await scan({
      beforeJob: () => {
        throw new RowmillError('FILE_INVALID', 'expected a header, got nothing');
      },
    });
    expect(report).toEqual({ ...NOTHING, found: 1, failed: 1 });
    expect(files('.failed')).toEqual(['a.csv', 'a.csv.reason.txt']);
    expect(readFileSync(join(root, '.failed/a.csv.reason.txt'), 'utf8')).toBe(
      'expected a header, got nothing\n',
    );
    expect(await rows()).toMatchObject([{ state: 'failed', reason: 'expected a header, got nothing' }]);
    expect(events).toMatchObject([{ name: 'source.file_failed', reason: 'expected a header, got nothing' }]);
    expect(await scan()).toEqual(NOTHING);
    expect(await jobs()).toEqual([]);
  });

  it('that failed is tried again when someone moves it back', async () => {
    put('a.csv', 'content');
    const { scan } = poller();
    await scan({ beforeJob: () => Promise.reject(new RowmillError('FILE_INVALID', 'wrong pipeline')) });
    renameSync(join(root, '.failed/a.csv'), join(root, 'a.csv'));
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toHaveLength(1);
  });

  it('that grows while it is read creates nothing, and is taken when it stops changing', async () => {
    put('a.csv', 'x'.repeat(300_000));
    const { scan, events } = poller();
    const held = () => join(root, '.processing', files('.processing')[0]!);
    expect(await scan({ whileReading: () => appendFileSync(held(), 'more') })).toEqual({
      ...NOTHING,
      found: 1,
      waiting: 1,
    });
    expect(await jobs()).toEqual([]);
    expect(await rows()).toEqual([]);
    expect(offered()).toEqual(['a.csv']);
    expect(events).toMatchObject([{ name: 'source.file_skipped', reason: 'it changed while it was read' }]);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toMatchObject([{ sha256: sha256Of(`${'x'.repeat(300_000)}more`) }]);
  });

  it('that is overwritten in place with the same length while it is read creates nothing', async () => {
    put('a.csv', 'x'.repeat(300_000));
    const { scan } = poller();
    const held = () => join(root, '.processing', files('.processing')[0]!);
    expect(await scan({ whileReading: () => writeFileSync(held(), 'y'.repeat(300_000)) })).toMatchObject({
      waiting: 1,
    });
    expect(await jobs()).toEqual([]);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toMatchObject([{ sha256: sha256Of('y'.repeat(300_000)) }]);
  });

  it('that shrinks while it is read creates nothing', async () => {
    put('a.csv', 'x'.repeat(300_000));
    const { scan } = poller();
    const held = () => join(root, '.processing', files('.processing')[0]!);
    expect(await scan({ whileReading: () => writeFileSync(held(), 'short') })).toMatchObject({ waiting: 1 });
    expect(await jobs()).toEqual([]);
  });

  it('that vanishes between poll and claim leaves no trace', async () => {
    put('a.csv');
    const { scan, context, adapter, config } = poller();
    const slow = withMethods<SourceAdapter>(adapter, {
      hold(file) {
        rmSync(join(root, 'a.csv'));
        return adapter.hold(file);
      },
    });
    expect(await scanSource(context, slow, config, takeWholeFile(context), NEVER)).toMatchObject({
      waiting: 1,
    });
    expect(await rows()).toEqual([]);
    expect(await scan()).toEqual(NOTHING);
  });

  it('that was replaced by a link is refused and not read', async () => {
    const { scan, events } = poller();
    writeFileSync(join(root, '.secret'), 'secret');
    symlinkSync(join(root, '.secret'), join(root, 'a.csv'));
    expect(await scan()).toEqual({ ...NOTHING, found: 1, skipped: 1 });
    // Reported once, however often it is seen.
    expect(await scan()).toEqual({ ...NOTHING, found: 1, skipped: 1 });
    expect(events).toMatchObject([
      { name: 'source.file_skipped', path: 'a.csv', reason: 'it is a symbolic link' },
    ]);
    expect(await jobs()).toEqual([]);
  });
});

describe('transient errors', () => {
  it('leave the file in place, and the next scan resumes the same job', async () => {
    put('a.csv', 'content');
    const { scan, events } = poller();
    const down = new RowmillError('BLOB_STORE_UNAVAILABLE', 'cannot write');
    await expect(scan({ afterJob: () => Promise.reject(down) })).rejects.toBe(down);
    expect(await rows()).toMatchObject([{ state: 'taken', token: null, reason: null }]);
    expect(events.map(({ name }) => name)).toEqual(['source.file_released', 'source.scan_failed']);
    const [before] = await jobs();
    expect(await scan()).toEqual({ ...NOTHING, found: 1, taken: 1 });
    expect(await jobs()).toEqual([before]);
    expect(files('.done')).toEqual(['a.csv']);
  });

  it('outside of a file never use up its tries, and end the scan', async () => {
    put('a.csv');
    put('b.csv');
    const { scan } = poller();
    let calls = 0;
    for (let i = 0; i < MAX_TRIES + 2; i += 1) {
      const down = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      await expect(
        scan({
          beforeJob: () => {
            calls += 1;
            throw down;
          },
        }),
      ).rejects.toBe(down);
    }
    expect(calls).toBe(MAX_TRIES + 2);
    expect(await scan()).toMatchObject({ taken: 2 });
  });

  it('for a job that another process is reading never fail the file, and do not delay other files', async () => {
    put('a.csv');
    put('b.csv');
    const { scan, events } = poller();
    const conflict = new RowmillError('JOB_CONFLICT', 'another process reads the file');
    for (let i = 0; i < MAX_TRIES + 1; i += 1) {
      await scan({ beforeJob: (file) => (file.name === 'a.csv' ? Promise.reject(conflict) : undefined) });
    }
    expect(await rows()).toMatchObject([
      { path: 'a.csv', state: 'taken', reason: null },
      { path: 'b.csv', state: 'done' },
    ]);
    expect(events.filter(({ name }) => name === 'source.file_released')).toHaveLength(MAX_TRIES + 1);
    expect(await scan()).toMatchObject({ taken: 1 });
  });

  it('of one file are limited: the fifth fails it, with all reasons', async () => {
    put('a.csv');
    const { scan } = poller();
    for (let i = 1; i < MAX_TRIES; i += 1) {
      expect(await scan({ beforeJob: () => Promise.reject(new Error(`trouble\n${i}`)) })).toMatchObject({
        errors: 1,
      });
    }
    expect(await scan({ beforeJob: () => Promise.reject(new Error('trouble 5')) })).toMatchObject({
      failed: 1,
    });
    expect(await rows()).toMatchObject([
      { state: 'failed', reason: 'trouble 1\ntrouble 2\ntrouble 3\ntrouble 4\ntrouble 5' },
    ]);
    expect(files('.failed')).toEqual(['a.csv', 'a.csv.reason.txt']);
  });

  it('of one file do not delay other files', async () => {
    put('a.csv');
    put('b.csv');
    const { scan } = poller();
    const report = await scan({
      beforeOpen: (file) => (file.name === 'a.csv' ? Promise.reject(new Error('trouble')) : undefined),
    });
    expect(report).toMatchObject({ taken: 1, errors: 1 });
  });

  it('do not include a stop: it releases the file without using up a try, and the next scan resumes', async () => {
    put('a.csv');
    const { scan } = poller();
    const stop = new AbortController();
    expect(await scan({ whileReading: () => stop.abort() }, stop.signal)).toMatchObject({
      taken: 0,
      waiting: 1,
    });
    expect(await rows()).toMatchObject([{ state: 'taken', token: null, reason: null }]);
    expect(await scan()).toMatchObject({ taken: 1 });
  });
});

describe('pollers', () => {
  it('turn each of 50 files into exactly one job, if two run at the same time', async () => {
    for (let i = 0; i < 50; i += 1) put(`${i}.csv`, `content ${i}`);
    const pollers = [poller(), poller()];
    // Neither continues with its first file before the other has one, too.
    const reading = new Set<unknown>();
    let goOn = (): void => {};
    const bothRead = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const scanAll = () =>
      pollers.map((each) => {
        const whileReading = (): Promise<void> => {
          if (reading.add(each).size === pollers.length) goOn();
          return bothRead;
        };
        return each.scan({ whileReading });
      });
    const totals = { taken: 0, errors: 0 };
    while (offered().length > 0 || files('.processing').length > 0) {
      for (const { taken, errors } of await Promise.all(scanAll())) {
        totals.taken += taken;
        totals.errors += errors;
      }
    }
    expect(totals).toEqual({ taken: 50, errors: 0 });
    const made = await jobs();
    expect(new Set(made.map((job) => job.sha256)).size).toBe(50);
    expect(made).toHaveLength(50);
    expect(files('.done')).toHaveLength(50);
    expect((await rows()).every((row) => row.state === 'done')).toBe(true);
    const shares = pollers.map(
      ({ events }) => events.filter(({ name }) => name === 'source.file_taken').length,
    );
    expect(Math.min(...shares), 'void: one poller did everything').toBeGreaterThan(0);
  });

  it('leave a file alone that another poller holds', async () => {
    put('a.csv');
    const [first, second] = [poller(), poller()];
    let report: ScanReport | undefined;
    await first.scan({
      whileReading: async () => {
        report = await second.scan();
      },
    });
    expect(report).toEqual({ ...NOTHING, found: 1, waiting: 1 });
    expect(await jobs()).toHaveLength(1);
  });

  it('resume a file whose lease expired; the frozen poller changes nothing when it wakes', async () => {
    put('a.csv', 'content');
    const [frozen, second] = [poller(), poller()];
    const report = await frozen.scan({
      afterJob: async () => {
        await expireLeases();
        expect(await second.scan()).toMatchObject({ taken: 1 });
        put('a.csv', 'the next file');
      },
    });
    expect(report).toEqual({ ...NOTHING, found: 1, waiting: 1 });
    expect(await jobs()).toHaveLength(1);
    expect(files('.done')).toEqual(['a.csv']);
    expect(offered()).toEqual(['a.csv']);
    expect(await second.scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toHaveLength(2);
  });

  it('abort the work on a file when its claim is lost', async () => {
    put('a.csv');
    const { scan } = poller({ ingestLeaseMs: 200 });
    let aborted = false;
    const report = await scan(async ({ signal }) => {
      await database.query('update source_files set token = gen_random_uuid() where source = $1', [source]);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      aborted = true;
      throw signal.reason;
    });
    expect({ aborted, report }).toEqual({ aborted: true, report: { ...NOTHING, found: 1, waiting: 1 } });
  });

  it('keep the claim of a file that takes longer than the lease', async () => {
    put('a.csv');
    // Long enough for a busy machine to renew the lease in time.
    const ingestLeaseMs = 3000;
    const [slow, second] = [poller({ ingestLeaseMs }), poller({ ingestLeaseMs })];
    const seen: number[] = [];
    const report = await slow.scan({
      whileReading: async () => {
        const end = performance.now() + 1.3 * ingestLeaseMs;
        while (performance.now() < end) {
          seen.push((await second.scan()).taken);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      },
    });
    expect(report.taken).toBe(1);
    expect(Math.max(...seen)).toBe(0);
  });

  it('fail a file that killed five of them', async () => {
    put('a.csv');
    const { scan, adapter, context } = poller();
    const { offered: found } = await adapter.look(NEVER);
    const file = found[0]!;
    await claimSourceFile(context.db, { source, ...file, token: newId(), leaseMs: 1 });
    for (let i = 0; i < MAX_TRIES - 1; i += 1) {
      await database.query(
        `update source_files set token = gen_random_uuid(), expires_at = now() - interval '1 s',
           reason = concat_ws(E'\\n', reason, 'the process that was reading the file died') where source = $1`,
        [source],
      );
    }
    expect(await scan()).toMatchObject({ failed: 1, taken: 0 });
    expect((await rows())[0]!.reason!.split('\n')).toHaveLength(MAX_TRIES);
    expect(files('.failed')).toContain('a.csv');
  });
});

describe('two sources of one folder', () => {
  it('take the files that match their patterns, and leave the other files alone', async () => {
    put('a.csv');
    put('b.jsonl');
    const { context } = poller();
    const open = (name: string, include: string[]) => {
      const config: FolderSourceConfig = { name, kind: 'folder', pipeline: 'watched', path: root, include };
      const adapter = new FolderSource(config, 0);
      return {
        adapter,
        scan: (hooks: TakeHooks = {}) =>
          scanSource(context, adapter, config, takeWholeFile(context, hooks), NEVER),
      };
    };
    const [csv, jsonl] = [open(source, ['*.csv']), open(`${source}-2`, ['*.jsonl'])];
    const report = await csv.scan({
      whileReading: async () => {
        expect((await jsonl.adapter.look(NEVER)).held).toEqual([]);
        expect(await jsonl.scan()).toMatchObject({ found: 1, taken: 1 });
      },
    });
    expect(report).toMatchObject({ found: 1, taken: 1 });
    expect(files('.done')).toEqual(['a.csv', 'b.jsonl']);
  });
});

describe('a scan', () => {
  it('takes at most sourceMaxFiles files', async () => {
    for (let i = 0; i < 5; i += 1) put(`${i}.csv`);
    const { scan } = poller({ sourceMaxFiles: 2 });
    expect(await scan()).toEqual({ ...NOTHING, found: 5, taken: 2, waiting: 3 });
    expect(await scan()).toEqual({ ...NOTHING, found: 3, taken: 2, waiting: 1 });
    expect(await scan()).toEqual({ ...NOTHING, found: 1, taken: 1 });
  });

  it('drops a claim whose file is gone', async () => {
    const { scan, context, events } = poller();
    await claimSourceFile(context.db, {
      source,
      fileId: '1.1.1.1.0123456789abcdef',
      path: 'gone.csv',
      bytes: 1,
      token: newId(),
      leaseMs: 1,
    });
    await expireLeases();
    expect(await scan()).toEqual(NOTHING);
    expect(await rows()).toEqual([]);
    expect(events).toMatchObject([{ name: 'source.file_skipped', path: 'gone.csv' }]);
  });

  it('waits before it puts back a file in .processing without a row, which may belong to another database', async () => {
    put('a.csv');
    const { scan, adapter } = poller();
    const { offered: found } = await adapter.look(NEVER);
    await adapter.hold(found[0]!);
    expect(await scan()).toEqual({ ...NOTHING, found: 1, waiting: 1 });
    expect(files('.processing')).toHaveLength(1);
    const patient = withMethods<SourceAdapter>(adapter, {
      look: async (signal) => {
        const look = await adapter.look(signal);
        return { ...look, held: look.held.map((file) => ({ ...file, heldMs: file.heldMs + 600_000 })) };
      },
    });
    const { context, config } = poller();
    await scanSource(context, patient, config, takeWholeFile(context), NEVER);
    expect(offered()).toEqual(['a.csv']);
    expect(await scan()).toMatchObject({ taken: 1 });
  });

  it('reports a source that cannot be read', async () => {
    const { scan, events } = poller();
    rmSync(root, { recursive: true });
    await expect(scan()).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    expect(events).toMatchObject([{ name: 'source.scan_failed', source }]);
    expect(existsSync(root)).toBe(false);
  });
});
