import type { Executor, Statement } from '../../../platform/database.ts';

const READ_CLOCK: Statement = {
  name: 'read-clock',
  text: `select (extract(epoch from clock_timestamp()) * 1000)::float8`,
};

/** The database clock in milliseconds. */
export async function readClock(db: Executor): Promise<number> {
  const [row] = await db.runArrays(READ_CLOCK, []);
  return row![0] as number;
}
