import type { Executor, Statement } from '../../../platform/database.ts';

const TOUCH_SESSION: Statement = {
  name: 'touch-session',
  text: 'update sessions set last_seen_at = now() where token_hash = $1',
};
const CONFIRM_SESSION: Statement = {
  name: 'confirm-session',
  text: 'update sessions set confirmed_at = now(), last_seen_at = now() where token_hash = $1',
};

export async function touchSession(db: Executor, tokenHash: Buffer): Promise<void> {
  await db.run(TOUCH_SESSION, [tokenHash]);
}

/** Records that the password was confirmed. Returns false if the session has ended. */
export async function confirmSessionRow(db: Executor, tokenHash: Buffer): Promise<boolean> {
  return (await db.run(CONFIRM_SESSION, [tokenHash])).rowCount === 1;
}
