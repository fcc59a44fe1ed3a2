// Statements for claims of source files: which poller may change a claim.
import { describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { newId } from '../../../platform/random.ts';
import { findSourceFiles } from '../../views/files/find-source-files.ts';
import { listAbandonedSourceFiles } from '../../views/files/list-abandoned-source-files.ts';
import {
  claimSourceFile,
  finishSourceFile,
  forgetSourceFile,
  releaseSourceFile,
  renewSourceFile,
  takeOverSourceFile,
} from './source-file-lease.ts';

const database = useTestDatabase();
const LONG = 60_000;

async function claimed() {
  const { db } = database.context();
  const claim = { source: 'in', fileId: newId(), token: newId() };
  expect(await claimSourceFile(db, { ...claim, path: 'a.csv', bytes: 1, leaseMs: LONG })).toBe(true);
  const stranger = { ...claim, token: newId() };
  const takeOver = () => takeOverSourceFile(db, { ...stranger, leaseMs: LONG, crashNote: 'it ended' });
  const expire = () =>
    database.query(`update source_files set expires_at = now() - interval '1 s' where file_id = $1`, [
      claim.fileId,
    ]);
  const row = async () =>
    (
      await database.query<{
        state: string;
        token: string | null;
        reason: string | null;
        job_id: string | null;
      }>('select state, token, reason, job_id from source_files where file_id = $1', [claim.fileId])
    )[0];
  return { db, claim, stranger, takeOver, expire, row };
}

describe('a claim', () => {
  it('is created once, even by ten pollers at the same moment', async () => {
    const { db } = database.context();
    const fileId = newId();
    const made = await Promise.all(
      Array.from({ length: 10 }, () =>
        claimSourceFile(db, { source: 'in', fileId, path: 'a', bytes: 1, token: newId(), leaseMs: LONG }),
      ),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(
      await claimSourceFile(db, {
        source: 'other',
        fileId,
        path: 'a',
        bytes: 1,
        token: newId(),
        leaseMs: LONG,
      }),
    ).toBe(true);
  });

  it('is not taken over before its lease expires, and then by only one poller', async () => {
    const { db, claim, takeOver, expire, row } = await claimed();
    expect(await takeOver()).toBeNull();
    await expire();
    const others = Array.from({ length: 5 }, () =>
      takeOverSourceFile(db, { ...claim, token: newId(), leaseMs: LONG, crashNote: 'it ended' }),
    );
    expect((await Promise.all(others)).filter(Boolean)).toEqual([{ reason: 'it ended' }]);
    expect((await row())!.token).not.toBe(claim.token);
  });

  it('can be changed only with its token', async () => {
    const { db, claim, stranger, row } = await claimed();
    const before = await row();
    expect(await renewSourceFile(db, stranger, LONG)).toBe(false);
    expect(await releaseSourceFile(db, stranger, 'no')).toBe(false);
    expect(await forgetSourceFile(db, stranger)).toBe(false);
    expect(await forgetSourceFile(db, { ...claim, token: null })).toBe(false);
    expect(await finishSourceFile(db, stranger, { state: 'done', jobId: newId() })).toBe(false);
    expect(await row()).toEqual(before);
    expect(await renewSourceFile(db, claim, LONG)).toBe(true);
  });

  it('cannot be finished by a frozen poller after another took it over', async () => {
    const { db, claim, stranger, takeOver, expire, row } = await claimed();
    await expire();
    await takeOver();
    expect(await finishSourceFile(db, claim, { state: 'failed', reason: 'late' })).toBe(false);
    expect(await finishSourceFile(db, stranger, { state: 'failed', reason: 'why' })).toBe(true);
    expect(await row()).toEqual({ state: 'failed', token: null, reason: 'why', job_id: null });
    expect(await takeOver()).toBeNull();
  });

  it('that was released is free immediately and has a line for each failed try', async () => {
    const { db, claim, stranger, takeOver, row } = await claimed();
    expect(await releaseSourceFile(db, claim, null)).toBe(true);
    expect((await row())!.reason).toBeNull();
    expect(await takeOver()).toEqual({ reason: null });
    expect(await releaseSourceFile(db, stranger, 'first')).toBe(true);
    expect(await takeOver()).toEqual({ reason: 'first' });
    expect(await releaseSourceFile(db, stranger, 'second')).toBe(true);
    expect(await takeOver()).toEqual({ reason: 'first\nsecond' });
  });

  it('is listed as abandoned, and can be deleted, only when no poller holds it', async () => {
    const { db, claim, expire } = await claimed();
    const listed = async () => (await listAbandonedSourceFiles(db, 'in', 100)).map(({ fileId }) => fileId);
    expect(await listed()).not.toContain(claim.fileId);
    await expire();
    expect(await listed()).toContain(claim.fileId);
    expect(await forgetSourceFile(db, { ...claim, token: null })).toBe(true);
    expect(await listed()).not.toContain(claim.fileId);
  });

  it('is found by its id among thousands that do not exist', async () => {
    const { db, claim } = await claimed();
    const ids = [...Array.from({ length: 12_000 }, (_, i) => `none-${i}`), claim.fileId];
    const found = await findSourceFiles(db, 'in', ids);
    expect([...found.values()]).toEqual([
      { fileId: claim.fileId, path: 'a.csv', state: 'taken', jobId: null, reason: null, free: false },
    ]);
  });
});
