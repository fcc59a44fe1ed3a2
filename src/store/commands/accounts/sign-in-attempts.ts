import type { Executor, Statement } from '../../../platform/database.ts';

// A leaky bucket per subject that drains at `perMinute` and holds as much. An attempt is added before the password is
// checked, so concurrent attempts cannot pass together. An attempt that finds the bucket full changes nothing, so the
// wait never grows.
const LEVEL_NOW = `greatest(0, a.level - extract(epoch from clock_timestamp() - a.at) / 60 * $2::float8)`;
const TAKE: Statement = {
  name: 'take-sign-in-attempt',
  text: `
    insert into sign_in_attempts as a (subject, level, at) values ($1, 1, clock_timestamp())
    on conflict (subject) do update set level = ${LEVEL_NOW} + 1, at = clock_timestamp()
    where ${LEVEL_NOW} + 1 <= $2::float8`,
};
const READ_WAIT: Statement = {
  name: 'read-sign-in-wait',
  text: `
    select greatest(0, ${LEVEL_NOW} + 1 - $2::float8) / $2::float8 * 60000 as wait_ms
    from sign_in_attempts a where subject = $1`,
};
// A successful attempt does not count.
const GIVE_BACK: Statement = {
  name: 'give-back-sign-in-attempts',
  text: `update sign_in_attempts set level = greatest(0, level - 1) where subject = any($1::bytea[])`,
};
// Deletes buckets that are empty by now. Index: sign_in_attempts_by_age.
const FORGET_OLD: Statement = {
  name: 'forget-sign-in-attempts',
  text: `
    delete from sign_in_attempts where subject in (
      select subject from sign_in_attempts where at < now() - interval '10 minutes'
      order by at limit 100 for update skip locked)`,
};

/** Returns null if the attempt is allowed, otherwise the wait in milliseconds. */
export async function takeSignInAttempt(
  db: Executor,
  subject: Buffer,
  perMinute: number,
): Promise<number | null> {
  if ((await db.run(TAKE, [subject, perMinute])).rowCount === 1) return null;
  const { rows } = await db.run<{ wait_ms: number }>(READ_WAIT, [subject, perMinute]);
  return rows[0]?.wait_ms ?? 0;
}

export async function giveBackSignInAttempts(db: Executor, subjects: readonly Buffer[]): Promise<void> {
  await db.run(GIVE_BACK, [subjects]);
}

export async function forgetOldSignInAttempts(db: Executor): Promise<void> {
  await db.run(FORGET_OLD);
}
