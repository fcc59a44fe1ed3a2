import type { Executor, Statement } from '../../../platform/database.ts';

// The primary key lets one of several requests with the same key win; the others wait for its commit and find the
// row. An expired row counts as gone. A new key is refused if its caller has reached the limit. The count stops at
// the limit, and concurrent requests may exceed it by their number.
const RESERVE_KEY: Statement = {
  name: 'reserve-idempotency-key',
  text: `
    insert into idempotency_keys as k (caller, key_hash, request_hash, token)
    select $1, $2, $3, $4
    where exists (select from idempotency_keys where caller = $1 and key_hash = $2)
      or $6 > (select count(*) from (select from idempotency_keys where caller = $1 limit $6) of_caller)
    on conflict (caller, key_hash) do update
      set request_hash = excluded.request_hash, token = excluded.token, status = null, answer = null, created_at = now()
      where k.created_at < now() - $5::float8 * interval '1 millisecond'
    returning token`,
};

const READ_KEY: Statement = {
  name: 'read-idempotency-key',
  text: 'select request_hash, token, status, answer from idempotency_keys where caller = $1 and key_hash = $2',
};

const COUNT_KEYS: Statement = {
  name: 'count-idempotency-keys',
  text: 'select from idempotency_keys where caller = $1 limit $2',
};

const STORE_ANSWER: Statement = {
  name: 'store-idempotent-answer',
  text: `
    update idempotency_keys set status = $4, answer = $5
    where caller = $1 and key_hash = $2 and token = $3 and status is null`,
};

const RELEASE_KEY: Statement = {
  name: 'release-idempotency-key',
  text: 'delete from idempotency_keys where caller = $1 and key_hash = $2 and token = $3 and status is null',
};

const PRUNE_KEYS: Statement = {
  name: 'prune-idempotency-keys',
  text: `
    delete from idempotency_keys k
    using (
      select caller, key_hash from idempotency_keys
      where created_at < now() - $1::float8 * interval '1 millisecond'
      order by created_at limit $2
    ) old
    where k.caller = old.caller and k.key_hash = old.key_hash`,
};

export interface KeyOfCaller {
  caller: string;
  keyHash: Buffer;
}

export interface KeptRequest {
  requestHash: Buffer;
  token: string;
  /** Null while the request has no response. */
  answer: KeptAnswer | null;
}

export interface KeptAnswer {
  status: number;
  /** JSON text. */
  text: string;
}

/** Returns false if the key is taken, or is new and its caller has reached the limit. */
export async function reserveKey(
  db: Executor,
  { caller, keyHash }: KeyOfCaller,
  request: { requestHash: Buffer; token: string; keepMs: number; maxKeys: number },
): Promise<boolean> {
  const { requestHash, token, keepMs, maxKeys } = request;
  const values = [caller, keyHash, requestHash, token, keepMs, maxKeys];
  return (await db.run(RESERVE_KEY, values)).rowCount === 1;
}

/** Whether the caller has reached the limit of keys. */
export async function isKeyBoundReached(db: Executor, caller: string, maxKeys: number): Promise<boolean> {
  return (await db.run(COUNT_KEYS, [caller, maxKeys])).rowCount === maxKeys;
}

export async function readKey(db: Executor, { caller, keyHash }: KeyOfCaller): Promise<KeptRequest | null> {
  const { rows } = await db.run<{
    request_hash: Buffer;
    token: string;
    status: number | null;
    answer: string | null;
  }>(READ_KEY, [caller, keyHash]);
  const row = rows[0];
  if (!row) return null;
  const { request_hash: requestHash, token, status, answer: text } = row;
  return { requestHash, token, answer: status === null || text === null ? null : { status, text } };
}

/** Returns false if the row no longer has this token. */
export async function storeAnswer(
  db: Executor,
  { caller, keyHash }: KeyOfCaller,
  token: string,
  { status, text }: KeptAnswer,
): Promise<boolean> {
  return (await db.run(STORE_ANSWER, [caller, keyHash, token, status, text])).rowCount === 1;
}

/** Returns false if the row no longer has this token. */
export async function releaseKey(
  db: Executor,
  { caller, keyHash }: KeyOfCaller,
  token: string,
): Promise<boolean> {
  return (await db.run(RELEASE_KEY, [caller, keyHash, token])).rowCount === 1;
}

/** Returns the number of deleted rows; less than the limit means that nothing is left to delete. */
export async function pruneKeys(db: Executor, keepMs: number, limit: number): Promise<number> {
  return (await db.run(PRUNE_KEYS, [keepMs, limit])).rowCount ?? 0;
}
