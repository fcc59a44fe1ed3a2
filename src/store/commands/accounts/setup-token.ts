import type { Executor, Statement } from '../../../platform/database.ts';

// Only while there is no account. There is one row, so a new token ends the one before.
const OFFER: Statement = {
  name: 'offer-setup-token',
  text: `
    insert into setup_token (token_hash, expires_at)
    select $1, now() + $2 * interval '1 millisecond' where not exists (select from users)
    on conflict (is_only) do update set token_hash = excluded.token_hash, expires_at = excluded.expires_at`,
};
// The row lock lets one of many who have the token go on; the others find it gone when that one has committed.
const CONSUME: Statement = {
  name: 'consume-setup-token',
  text: 'delete from setup_token where token_hash = $1 and expires_at > now()',
};

/** False when there is an account: nothing is offered. */
export async function offerSetupToken(db: Executor, tokenHash: Buffer, validMs: number): Promise<boolean> {
  return (await db.run(OFFER, [tokenHash, validMs])).rowCount === 1;
}

export async function consumeSetupToken(db: Executor, tokenHash: Buffer): Promise<boolean> {
  return (await db.run(CONSUME, [tokenHash])).rowCount === 1;
}
