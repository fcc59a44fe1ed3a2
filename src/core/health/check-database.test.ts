import { describe, expect, test } from 'vitest';
import {
  bytesText,
  checkConnections,
  checkReplication,
  checkServer,
  checkSettings,
  checkSize,
  checkTables,
  checkTransactions,
  type DatabaseCheck,
} from './check-database.ts';

const GB = 1024 ** 3;
const server = {
  versionNumber: 180_004,
  version: '18.4',
  now: new Date('2026-11-18T12:00:00Z'),
  isStandby: false,
  frozenAge: 1000,
  settings: {},
};
const table = {
  name: 'spans',
  heapBytes: 8192,
  totalBytes: 16_384,
  liveRows: 100,
  deadRows: 0,
  lastVacuum: null,
  isAnalyzed: true,
  autovacuumOff: false,
};
const levels = ({ findings }: DatabaseCheck): string[] => findings.map(({ level }) => level);

describe('the server', () => {
  test('is fine while its version has updates', () => {
    expect(checkServer(server).findings).toEqual([]);
  });

  test('is reported after the end of its version, as a standby, and close to the last transaction id', () => {
    const old = checkServer({
      ...server,
      versionNumber: 150_010,
      version: '15.10',
      now: new Date('2027-12-01'),
    });
    expect(old.findings[0]?.finding).toBe('PostgreSQL 15.10 has had no updates since 2027-11');
    expect(levels(checkServer({ ...server, isStandby: true }))).toEqual(['problem']);
    expect(levels(checkServer({ ...server, frozenAge: 1_200_000_000 }))).toEqual(['warning']);
    expect(levels(checkServer({ ...server, frozenAge: 1_900_000_000 }))).toEqual(['problem']);
  });
});

test('settings that lose results or end statements are reported, and limits of zero are none', () => {
  const good = {
    fsync: 'on',
    autovacuum: 'on',
    track_counts: 'on',
    synchronous_commit: 'on',
    lock_timeout: '0',
  };
  expect(checkSettings({ settings: good }).findings).toEqual([]);
  const bad = checkSettings({
    settings: { ...good, fsync: 'off', synchronous_commit: 'off', lock_timeout: '100' },
  });
  expect(levels(bad)).toEqual(['problem', 'warning', 'warning']);
  const standby = { ...good, synchronous_commit: 'local', synchronous_standby_names: '' };
  expect(checkSettings({ settings: standby }).findings).toEqual([]);
  expect(levels(checkSettings({ settings: { ...standby, synchronous_standby_names: 'b' } }))).toEqual([
    'warning',
  ]);
});

test('connections are compared with what running workers may open, except through a pooler', () => {
  const facts = { open: 20, maxConnections: 100, reserved: 3, workersAlive: 9, ofWorkers: 10, hidden: 0 };
  const direct = { perWorker: 10, isPooled: false };
  expect(checkConnections({ ...facts, workersAlive: 8 }, direct).findings).toEqual([]);
  expect(checkConnections(facts, direct).findings[0]?.finding).toBe(
    '9 worker processes may open 10 connections each, with others 100 of 97',
  );
  expect(checkConnections(facts, { ...direct, isPooled: true }).findings).toEqual([]);
  expect(checkConnections({ ...facts, open: 90 }, { ...direct, isPooled: true }).findings).toHaveLength(1);
  expect(checkConnections({ ...facts, workersAlive: 0, hidden: 2 }, direct).findings[0]?.action).toContain(
    'pg_read_all_stats',
  );
});

test('only transactions of more than ten minutes are reported', () => {
  const held = {
    holder: 'session 7 of psql',
    state: 'idle in transaction',
    endWith: 'select pg_terminate_backend(7)',
  };
  expect(checkTransactions([{ ...held, ageMs: 590_000 }]).findings).toEqual([]);
  expect(checkTransactions([{ ...held, ageMs: 3 * 3_600_000 }]).findings).toEqual([
    {
      level: 'warning',
      finding:
        'session 7 of psql has kept a transaction open for 3 h (idle in transaction); rows that died since then cannot be removed',
      action: 'End it if it is not needed: select pg_terminate_backend(7)',
    },
  ]);
});

test('replication slots are reported when nothing reads them, or too slowly', () => {
  const slot = { name: 'copy', active: true, retainedBytes: GB, walStatus: 'reserved', holdsRows: false };
  expect(checkReplication([slot]).findings).toEqual([]);
  expect(checkReplication([{ ...slot, active: false }]).findings[0]?.finding).toContain(
    'not in use and keeps 1.0 GB',
  );
  expect(checkReplication([{ ...slot, retainedBytes: 20 * GB }]).findings[0]?.finding).toContain('is slow');
  expect(checkReplication([{ ...slot, walStatus: 'lost' }]).findings[0]?.finding).toContain('is lost');
});

test('tables are reported for dead rows, empty pages, missing statistics and their own autovacuum', () => {
  expect(checkTables([{ ...table, deadRows: 90_000 }]).findings).toEqual([]);
  expect(checkTables([{ ...table, liveRows: 1_000_000, deadRows: 400_000 }]).findings).toEqual([]);
  expect(checkTables([{ ...table, deadRows: 200_000 }]).findings[0]?.finding).toBe(
    'the table spans has 200000 dead rows beside 100 (last vacuum: never)',
  );
  expect(checkTables([{ ...table, heapBytes: GB }]).findings[0]?.finding).toBe(
    'the table spans takes 1.0 GB for 100 rows',
  );
  expect(checkTables([{ ...table, liveRows: 200_000, isAnalyzed: false }]).findings[0]?.action).toBe(
    'analyze spans',
  );
  expect(levels(checkTables([{ ...table, autovacuumOff: true }]))).toEqual(['problem']);
});

test('sizes name the largest tables, and disks that are nearly full', () => {
  const disk = { folder: '/data', freeBytes: 40 * GB, totalBytes: 500 * GB };
  const fine = checkSize([table, { ...table, name: 'items', totalBytes: 3 * GB }], 4 * GB, [disk]);
  expect(fine.says).toBe('4.0 GB; largest tables: items 3.0 GB, spans 16 kB');
  expect(fine.findings).toEqual([]);
  expect(checkSize([], 0, [{ ...disk, freeBytes: 20 * GB }]).findings[0]?.finding).toBe(
    'the disk of /data has 20 GB free of 500 GB',
  );
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 kB'],
  [15 * 1024 ** 2, '15 MB'],
])('%s bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
