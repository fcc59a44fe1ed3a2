// The box that encrypts webhook secrets: with the key from the settings, or with one that is generated once for all
// servers of a database. The key is in the blob store and its name in the database, so neither alone is enough.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { BlobStore } from '../../platform/blob-store/blob-store.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { keyIdOf, randomSecret, SecretBox } from '../../platform/secret-box.ts';
import type { Settings } from '../../platform/settings.ts';
import { claimSecretKeyId, readSecretKeyId } from '../../store/commands/events/secret-key-id.ts';
import type { EngineContext } from '../engine-context.ts';

const GENERATED = 'generated';

const boxes = new WeakMap<BlobStore, Promise<SecretBox>>();

/** Refuses an invalid key. A generated key is loaded when it is needed. */
export function checkSecretKey({ secretKey }: Settings): void {
  if (secretKey !== GENERATED) new SecretBox(secretKey);
}

export function secretBoxOf(context: EngineContext): Promise<SecretBox> {
  const { blobs, settings } = context;
  if (settings.secretKey !== GENERATED) return Promise.resolve(new SecretBox(settings.secretKey));
  const known = boxes.get(blobs);
  if (known) return known;
  const box = generatedKey(context).then((key) => new SecretBox(key));
  boxes.set(blobs, box);
  // If the blob store or the database is unavailable, the next call tries again.
  box.catch(() => boxes.delete(blobs));
  return box;
}

async function generatedKey({ db, blobs }: EngineContext): Promise<string> {
  let keyId = await retryPassing(() => readSecretKeyId(db));
  if (keyId === null) {
    const key = randomSecret();
    const own = keyIdOf(key);
    // Stored before it is named, so a name in the database always leads to a key.
    await blobs.put(blobKeyOf(own), once(key));
    await retryPassing(() => claimSecretKeyId(db, own));
    keyId = (await retryPassing(() => readSecretKeyId(db)))!;
    if (keyId !== own) await blobs.delete(blobKeyOf(own));
  }
  return readKey(blobs, keyId);
}

async function readKey(blobs: BlobStore, keyId: string): Promise<string> {
  try {
    return Buffer.concat(await (await blobs.get(blobKeyOf(keyId))).toArray()).toString();
  } catch (cause) {
    if (!(cause instanceof RowmillError) || cause.code !== 'BLOB_NOT_FOUND') throw cause;
    throw new RowmillError(
      'SETTINGS_INVALID',
      `the generated secretKey (${blobKeyOf(keyId)}) is not in the ${blobs.description}`,
      { cause, hint: 'Use the blob store of the other servers, or set secretKey and rotate the secrets.' },
    );
  }
}

function blobKeyOf(keyId: string): string {
  return `keys/${keyId}`;
}

async function* once(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
