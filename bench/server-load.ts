// The cost of a drain on the server: processor time of all its processes, bytes of WAL, and bytes of stored tables.
import { readdir, readFile } from 'node:fs/promises';
import { withClient } from './measure.ts';

export interface ServerLoad {
  /** Null if the server runs on another machine or its processes cannot be read. */
  cpuMs: number | null;
  walBytes: number;
}

/** Linux counts processor time in ticks of 10 ms. */
const TICK_MS = 10;

export async function readServerLoad(serverUrl: string): Promise<ServerLoad> {
  return withClient(serverUrl, async (client) => {
    const { rows } = await client.query<{ pid: number; walBytes: string }>(
      `select pg_backend_pid() as pid, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as "walBytes"`,
    );
    const { pid, walBytes } = rows[0]!;
    return { cpuMs: await readCpuMs(pid), walBytes: Number(walBytes) };
  });
}

/** Tables, indexes and large values of all user tables. */
export async function readStoredBytes(databaseUrl: string): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ bytes: string }>(
      'select coalesce(sum(pg_total_relation_size(relid)), 0) as bytes from pg_stat_user_tables',
    );
    return Number(rows[0]!.bytes);
  });
}

/** The parent of a backend is the postmaster. It adds up the time of processes that ended. */
async function readCpuMs(backendPid: number): Promise<number | null> {
  const backend = await readProcess(backendPid);
  if (backend?.name !== 'postgres') return null;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(pids.map(readProcess));
  return all.reduce((sum, each) => {
    if (each?.pid === backend.parent) return sum + each.ownMs + each.childrenMs;
    return each?.parent === backend.parent ? sum + each.ownMs : sum;
  }, 0);
}

interface ProcessTimes {
  pid: number;
  name: string;
  parent: number;
  ownMs: number;
  childrenMs: number;
}

/** Null if the process has ended, or without /proc. */
async function readProcess(pid: number): Promise<ProcessTimes | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  const nameEnd = text.lastIndexOf(')');
  const fields = text
    .slice(nameEnd + 2)
    .split(' ')
    .map(Number);
  const [parent, user, system, childrenUser, childrenSystem] = [1, 11, 12, 13, 14].map((at) => fields[at]!);
  return {
    pid,
    name: text.slice(text.indexOf('(') + 1, nameEnd),
    parent: parent!,
    ownMs: (user! + system!) * TICK_MS,
    childrenMs: (childrenUser! + childrenSystem!) * TICK_MS,
  };
}
