// The thread behind LeaseKeeper: renews every held lease after a third of its length, one statement per job.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type pg from 'pg';
import { renewLeases } from '../../engine/claims/renew-leases.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { driverClient } from '../../platform/database-servers.ts';
import type { FromKeeper, KeeperData, LeaseToKeep, ToKeeper } from './lease-keeper.ts';

interface Held extends LeaseToKeep {
  renewedMs: number;
  expired: boolean;
}

const { url, ticks, watchdogMs, checkMs, killWhenStuck } = workerData as KeeperData;
const Client = driverClient(url);
const counter = new Int32Array(ticks);
const held = new Map<string, Held>();
const port = parentPort!;
let client: pg.Client | null = null;
let lastTick = Atomics.load(counter, 0);
let lastTickMs = monotonicMs();
let stuck = false;
let renewing = false;

port.on('message', (message: ToKeeper) => {
  if (message.kind === 'hold')
    held.set(message.lease.token, { ...message.lease, renewedMs: monotonicMs(), expired: false });
  else if (message.kind === 'drop') held.delete(message.token);
  else clearInterval(timer);
});

function tell(message: FromKeeper): void {
  port.postMessage(message);
}

/** False while the main thread's event loop is blocked. */
function mainLoopTurns(now: number): boolean {
  const tick = Atomics.load(counter, 0);
  if (tick !== lastTick) {
    lastTick = tick;
    lastTickMs = now;
    stuck = false;
  } else if (now - lastTickMs > watchdogMs && !stuck) {
    stuck = true;
    tell({ kind: 'stuck', forMs: Math.round(now - lastTickMs) });
    if (killWhenStuck) {
      writeSync(
        2,
        `rowmill: a handler has blocked this process for ${Math.round(now - lastTickMs)} ms; killing it\n`,
      );
      process.kill(process.pid, 'SIGKILL');
    }
  }
  return !stuck;
}

async function check(): Promise<void> {
  const now = monotonicMs();
  if (!mainLoopTurns(now)) return;
  const expired: string[] = [];
  for (const lease of held.values()) {
    if (lease.expired || now - lease.renewedMs <= lease.leaseMs) continue;
    lease.expired = true;
    expired.push(lease.token);
  }
  if (expired.length > 0) tell({ kind: 'expired', tokens: expired });
  for (const [jobId, leases] of groupByJob(dueLeases(now))) await renew(jobId, leases);
}

function dueLeases(now: number): Held[] {
  return [...held.values()].filter((lease) => now - lease.renewedMs >= lease.leaseMs / 3);
}

function groupByJob(leases: Held[]): Map<string, Held[]> {
  const groups = new Map<string, Held[]>();
  for (const lease of leases) groups.set(lease.jobId, [...(groups.get(lease.jobId) ?? []), lease]);
  return groups;
}

async function renew(jobId: string, leases: Held[]): Promise<void> {
  const sentMs = monotonicMs();
  const leaseMs = Math.max(...leases.map((lease) => lease.leaseMs));
  const renewed = await renewLeases(await connection(leaseMs), jobId, leases, leaseMs);
  const lost: string[] = [];
  for (const lease of leases) {
    if (renewed.has(lease.spanId)) lease.renewedMs = sentMs;
    // A lease that was dropped during the query is finished, not lost.
    else if (held.delete(lease.token)) lost.push(lease.token);
  }
  if (lost.length > 0) tell({ kind: 'lost', tokens: lost });
}

async function connection(leaseMs: number): Promise<pg.Client> {
  if (client) return client;
  const opened = new Client({
    connectionString: url,
    application_name: 'rowmill lease keeper',
    connectionTimeoutMillis: Math.ceil(leaseMs / 3),
    query_timeout: Math.ceil(leaseMs / 3),
    keepAlive: true,
  });
  opened.on('error', () => forget(opened));
  opened.on('end', () => forget(opened));
  await opened.connect();
  client = opened;
  return opened;
}

function forget(broken: pg.Client): void {
  if (client === broken) client = null;
}

const timer = setInterval(() => {
  if (renewing) return;
  renewing = true;
  check()
    .catch(() => {
      // Discard a connection that failed or timed out; the next check opens a new one.
      const broken = client;
      client = null;
      broken?.end().catch(() => {});
    })
    .finally(() => {
      renewing = false;
    });
}, checkMs);
