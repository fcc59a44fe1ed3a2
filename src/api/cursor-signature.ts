// Signs the cursors that clients get, and refuses those that are not signed. The key is the same for all servers of a database.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { refuseCursor } from '../core/cursor.ts';
import type { Executor } from '../platform/database.ts';
import { readCursorKey } from '../store/views/read-cursor-key.ts';

/** 16 bytes as base64url. */
const SIGNATURE_LENGTH = 22;

export class CursorSignature {
  readonly #db: Executor;
  #key: Promise<Buffer> | null = null;

  constructor(db: Executor) {
    this.#db = db;
  }

  async sign(payload: string): Promise<string> {
    return payload + signatureOf(await this.#readKey(), payload);
  }

  /** What was signed. */
  async check(text: string): Promise<string> {
    const payload = text.slice(0, -SIGNATURE_LENGTH);
    const [given, expected] = [
      Buffer.from(text.slice(-SIGNATURE_LENGTH)),
      Buffer.from(signatureOf(await this.#readKey(), payload)),
    ];
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      refuseCursor('it is damaged, or not signed by a server of this database');
    return payload;
  }

  #readKey(): Promise<Buffer> {
    this.#key ??= readCursorKey(this.#db);
    // A database that is away for a while is asked again.
    this.#key.catch(() => {
      this.#key = null;
    });
    return this.#key;
  }
}

function signatureOf(key: Buffer, payload: string): string {
  return createHmac('sha256', key).update(payload).digest('base64url').slice(0, SIGNATURE_LENGTH);
}
