// Kills a poller at every step between finding a file and moving it to .done. After the next poll every file has one
// job and is in .done.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { seededSequence } from '../../examples/seeded-sequence.ts';
import { FAULT_POINTS } from '../../src/platform/fault-point.ts';
import { newId } from '../../src/platform/random.ts';
import { type Child, killAll, startChild } from '../support/child-process.ts';
import { depth, isDeep } from '../support/depth.ts';
import { sha256Of } from '../support/take-whole-file.ts';
import { useTestDatabase } from '../support/test-database.ts';
import type { PollerOptions } from './source-poller-child.ts';

const database = useTestDatabase();
const FILES = 3;
/** State after the death: the file's folder, the state of its row, and whether its job exists. */
const LEFT_BEHIND: Record<string, { folder: 'root' | '.processing'; state: string; job: boolean }> = {
  'source.after_claim': { folder: 'root', state: 'taken', job: false },
  'source.after_rename': { folder: '.processing', state: 'taken', job: false },
  'source.after_take': { folder: '.processing', state: 'taken', job: true },
  'source.before_finish': { folder: '.processing', state: 'done', job: true },
};
const folders: string[] = [];

afterEach(async () => {
  await killAll();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function startPoller(options: PollerOptions, faultPoints = ''): Child {
  return startChild({
    script: new URL('source-poller-child.ts', import.meta.url),
    args: [JSON.stringify(options)],
    env: { ROWMILL_FAULT_POINTS: faultPoints },
  });
}

test('every fault point of a source is exercised here', () => {
  expect(Object.keys(LEFT_BEHIND).sort()).toEqual(
    FAULT_POINTS.filter((name) => name.startsWith('source.')).sort(),
  );
});

const cases = Object.keys(LEFT_BEHIND).flatMap((point) =>
  (isDeep ? [1, 2] : [2]).map((passage) => ({ point, passage })),
);

test.each(cases)(
  'every file gets one job after a kill at $point, passage $passage',
  async ({ point, passage }) => {
    database.keepIfFailed();
    const path = mkdtempSync(join(tmpdir(), 'rowmill-kill-'));
    folders.push(path);
    const source = `${point}-${passage}-${newId()}`;
    for (let i = 0; i < FILES; i += 1) writeFileSync(join(path, `${i}.csv`), `content ${i}`);
    const options = { databaseUrl: database.url, source, path, leaseMs: 500 };
    const jobs = () =>
      database.query<{ sha256: string }>(
        `select params ->> 'sha256' as sha256 from jobs where params ->> 'source' = $1`,
        [source],
      );
    const rows = (state: string) =>
      database.query('select 1 from source_files where source = $1 and state = $2', [source, state]);
    const filesIn = (folder: string) =>
      readdirSync(join(path, folder)).filter((name) => !name.startsWith('.'));

    const victim = startPoller(options, `${point}=kill@${passage}`);
    expect(await victim.exited, victim.stderrTail).toEqual({ code: null, signal: 'SIGKILL' });
    expect(
      victim.events.filter(({ event }) => event === 'fault'),
      'void: the fault did not fire',
    ).toHaveLength(1);
    const left = LEFT_BEHIND[point]!;
    const finished = passage - 1;
    expect(filesIn('.done')).toHaveLength(finished);
    expect(filesIn('.processing')).toHaveLength(left.folder === '.processing' ? 1 : 0);
    expect(await rows('taken')).toHaveLength(left.state === 'taken' ? 1 : 0);
    expect(await rows('done')).toHaveLength(finished + (left.state === 'done' ? 1 : 0));
    expect(await jobs()).toHaveLength(finished + (left.job ? 1 : 0));

    // Two pollers at the same time, so that they compete for the file of the dead one.
    const pollers = [startPoller(options), startPoller(options)];
    for (const poller of pollers)
      expect(await poller.exited, poller.stderrTail).toEqual({ code: 0, signal: null });
    const hashes = (await jobs()).map((job) => job.sha256);
    expect(hashes.sort()).toEqual(Array.from({ length: FILES }, (_, i) => sha256Of(`content ${i}`)).sort());
    expect(filesIn('.done').sort()).toEqual(['0.csv', '1.csv', '2.csv']);
    expect(await rows('done')).toHaveLength(FILES);
  },
);

test('every file gets one job after repeated kills at random moments', async () => {
  database.keepIfFailed();
  const path = mkdtempSync(join(tmpdir(), 'rowmill-kill-'));
  folders.push(path);
  const source = `again-${newId()}`;
  let files = 0;
  const addFiles = (): void => {
    for (const until = files + 60; files < until; files += 1)
      writeFileSync(join(path, `${files}.csv`), `content ${files}`);
  };
  addFiles();
  const options = { databaseUrl: database.url, source, path, leaseMs: 200 };
  const seed = Date.now() % 1_000_000;
  const random = seededSequence(seed);
  for (let kills = 0; kills < depth(2, 6); ) {
    const poller = startPoller(options);
    // At some point in the next few files: each takes a few milliseconds.
    const after = 1 + Math.floor(random() * 8);
    let taken = 0;
    const wait = poller
      .waitFor('taken', () => ++taken >= after)
      .then(
        () => poller.kill('SIGKILL'),
        () => false,
      );
    const { signal } = await poller.exited;
    await wait;
    if (signal === 'SIGKILL') kills += 1;
    // The poller finished before the kill, or hardly any files were left.
    else addFiles();
  }
  expect(await startPoller(options).exited).toEqual({ code: 0, signal: null });
  const jobs = await database.query<{ sha256: string }>(
    `select params ->> 'sha256' as sha256 from jobs where params ->> 'source' = $1`,
    [source],
  );
  expect(jobs.map((job) => job.sha256).sort(), `seed ${seed}`).toEqual(
    Array.from({ length: files }, (_, i) => sha256Of(`content ${i}`)).sort(),
  );
  expect(readdirSync(join(path, '.done'))).toHaveLength(files);
});
