import type { Executor, Statement } from '../../../platform/database.ts';

// Only while there is no account. There is one row, so a new token replaces the previous one.
const OFFER: Statement = {
  name: 'offer-setup-token',
  text: `
    insert into setup_token (token_hash, expires_at)
    select $1, now() + $2 * interval '1 millisecond' where not exists (select from users)
    on conflict (is_only) do update set token_hash = excluded.token_hash, expires_at = excluded.expires_at`,
};
// The row lock admits one of several clients with the token; the others find no token after its commit.
const CONSUME: Statement = {
  name: 'consume-setup-token',
  text: 'delete from setup_token where token_hash = $1 and expires_at > now()',
};

/** Returns false if an account exists. */
export async function offerSetupToken(db: Executor, tokenHash: Buffer, validMs: number): Promise<boolean> {
  return (await db.run(OFFER, [tokenHash, validMs])).rowCount === 1;
}

export async function consumeSetupToken(db: Executor, tokenHash: Buffer): Promise<boolean> {
  return (await db.run(CONSUME, [tokenHash])).rowCount === 1;
}
