// The shared row of a resource in the database. Tests count with it instead of a clock: each call uses one scheduled
// start, and a worker knows of a change once it has synced twice since.
import { expect } from 'vitest';
import type { ResourceState } from '../../src/core/limits/resource-control.ts';
import { waitMs } from '../../src/platform/clock.ts';
import type { TestDatabase } from './test-database.ts';

interface ResourceRow {
  /** The clock of the database, in milliseconds. */
  nowMs: number;
  state: ResourceState;
}

export async function databaseMs(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  return row!.ms;
}

export async function readResource(database: TestDatabase, name: string, key = ''): Promise<ResourceRow> {
  const [row] = await database.query<ResourceRow>(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs", state
     from resources where name = $1 and key = $2`,
    [name, key],
  );
  if (!row) throw new Error(`no worker has used resource ${name} ${key}`);
  return row;
}

/** Workers that hold or want permits. */
export async function holdersOf(database: TestDatabase, name: string): Promise<string[]> {
  const rows = await database.query<{ worker: string }>(
    `select jsonb_object_keys(state -> 'holders') as worker from resources where name = $1 and key = ''`,
    [name],
  );
  return rows.map(({ worker }) => worker);
}

export async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await is())) await waitMs(20);
}

/**
 * Resolves when each worker that uses the resource has applied an answer decided after this call. A worker runs one
 * sync at a time, so a second sync means that it applied the answer to the first.
 */
export async function whenHeard(database: TestDatabase, name: string, leaseMs: number): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const sinceMs = await databaseMs(database);
    await until(async () => {
      const { holders } = (await readResource(database, name)).state;
      return Object.values(holders).every(({ expiresAtMs }) => expiresAtMs - leaseMs > sinceMs);
    });
  }
}

/** Moves an instant of the state into the past, as if that time had passed. */
export async function passTime(database: TestDatabase, name: string, path: string): Promise<void> {
  await database.query(`update resources set state = jsonb_set(state, $2::text[], '0') where name = $1`, [
    name,
    path,
  ]);
}

/**
 * Checks that each call used its own scheduled start, at `perSecond` starts per second. `sinceMs` is before the first
 * call, by the database clock.
 */
export async function expectPlaces(
  database: TestDatabase,
  calls: number,
  line: { name: string; key?: string; perSecond: number; sinceMs: number },
): Promise<void> {
  const { state } = await readResource(database, line.name, line.key);
  const places = ((state.nextStartMs - line.sinceMs) / 1000) * line.perSecond;
  expect(calls, `calls, for ${places} places of ${line.name} ${line.key ?? ''}`).toBeLessThanOrEqual(
    places + 1e-3,
  );
}
