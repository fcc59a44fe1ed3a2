import type { Executor, Statement } from '../../../platform/database.ts';

// If several servers generate a key, the first one is used.
const CLAIM_SECRET_KEY_ID: Statement = {
  name: 'claim-secret-key-id',
  text: 'update webhook_intake set secret_key_id = $1 where secret_key_id is null',
};

const READ_SECRET_KEY_ID: Statement = {
  name: 'read-secret-key-id',
  text: 'select secret_key_id from webhook_intake',
};

export async function claimSecretKeyId(db: Executor, keyId: string): Promise<void> {
  await db.run(CLAIM_SECRET_KEY_ID, [keyId]);
}

/** Null if no key was generated. */
export async function readSecretKeyId(db: Executor): Promise<string | null> {
  const { rows } = await db.run<{ secret_key_id: string | null }>(READ_SECRET_KEY_ID);
  return rows[0]?.secret_key_id ?? null;
}
