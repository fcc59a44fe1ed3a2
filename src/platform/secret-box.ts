// Secrets as they are stored: encrypted with AES-256-GCM where the setting secretKey is set, else as they are. The key
// is named in the text, so that one that is wrong is told apart from a text that was tampered with.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { RowmillError } from '../core/rowmill-error.ts';

const MARK = 'sealed1';
const NONCE_BYTES = 12;

export function randomSecret(): string {
  return randomBytes(32).toString('base64');
}

export class SecretBox {
  readonly #key: Buffer | null;
  readonly #keyId: string;

  /** The setting: 32 bytes as base64, or `none`. */
  constructor(secretKey: string) {
    const isNone = secretKey === 'none';
    const key = Buffer.from(isNone ? '' : secretKey, 'base64');
    if (!isNone && key.length !== 32)
      throw new RowmillError(
        'SETTINGS_INVALID',
        `expected secretKey (SECRET_KEY) to be 32 bytes as base64, got ${key.length} bytes`,
      );
    this.#key = isNone ? null : key;
    this.#keyId = createHash('sha256').update(key).digest('hex').slice(0, 8);
  }

  /** `purpose` names what the secret belongs to: it cannot be opened for anything else. */
  seal(secret: string, purpose: string): string {
    if (this.#key === null) return secret;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    const parts = [nonce, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'));
    return [MARK, this.#keyId, ...parts].join('.');
  }

  open(stored: string, purpose: string): string {
    const [mark, keyId, nonce, tag, sealed] = stored.split('.');
    if (mark !== MARK) return stored;
    if (this.#key === null || keyId !== this.#keyId || !nonce || !tag || sealed === undefined)
      throw new RowmillError('SETTINGS_INVALID', 'a stored secret was encrypted with another secretKey');
    const decipher = createDecipheriv('aes-256-gcm', this.#key, Buffer.from(nonce, 'base64url'), {
      authTagLength: 16,
    });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(Buffer.from(tag, 'base64url'));
    return decipher.update(Buffer.from(sealed, 'base64url')).toString('utf8') + decipher.final('utf8');
  }
}
