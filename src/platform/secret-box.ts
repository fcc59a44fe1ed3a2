// Encrypts stored secrets with AES-256-GCM, or stores them in plain text without a key. The stored text has the id of
// its key, so that a wrong key can be distinguished from a text that was tampered with.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { RowmillError } from '../core/errors/rowmill-error.ts';

const MARK = 'sealed1';
const NONCE_BYTES = 12;

export function randomSecret(): string {
  return randomBytes(32).toString('base64');
}

/** The id of a key in stored texts. */
export function keyIdOf(secretKey: string): string {
  return createHash('sha256').update(Buffer.from(secretKey, 'base64')).digest('hex').slice(0, 8);
}

export class SecretBox {
  /** Keys by id. The first one seals. */
  readonly #keys: ReadonlyMap<string, Buffer>;

  /**
   * `secretKey` has keys of 32 bytes as base64, separated by commas: the first seals, all of them open. Or it is
   * `none`.
   */
  constructor(secretKey: string) {
    const texts = secretKey === 'none' ? [] : secretKey.split(',').map((text) => text.trim());
    this.#keys = new Map(texts.map((text) => [keyIdOf(text), keyOf(text)]));
  }

  /** `purpose` names the owner of the secret, which cannot be opened for another purpose. */
  seal(secret: string, purpose: string): string {
    const [first] = this.#keys;
    if (!first) return secret;
    const [keyId, key] = first;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    const parts = [nonce, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'));
    return [MARK, keyId, ...parts].join('.');
  }

  open(stored: string, purpose: string): string {
    const [mark, keyId, nonce, tag, sealed] = stored.split('.');
    if (mark !== MARK) return stored;
    const key = this.#keys.get(keyId ?? '');
    if (!key || !nonce || !tag || sealed === undefined)
      throw new RowmillError('SETTINGS_INVALID', 'a stored secret was encrypted with another secretKey');
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
      authTagLength: 16,
    });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(Buffer.from(tag, 'base64url'));
    return decipher.update(Buffer.from(sealed, 'base64url')).toString('utf8') + decipher.final('utf8');
  }
}

function keyOf(text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32)
    throw new RowmillError(
      'SETTINGS_INVALID',
      `expected secretKey (SECRET_KEY) to be 32 bytes as base64, got ${key.length} bytes`,
    );
  return key;
}
