// Packs and signs the cursors that clients get, and refuses unsigned ones. All servers of a database share the key.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { refuseCursor } from '../../core/paging/cursor.ts';
import { type CursorTrail, parseTrail, shorterTrail, trailText } from '../../core/paging/cursor-trail.ts';
import type { Executor } from '../../platform/database.ts';
import { readCursorKey } from '../../store/views/events/read-cursor-key.ts';

/** A header holds two cursors, and proxies accept 4 KiB of headers. A cursor with a single long key may exceed this. */
const MAX_LENGTH = 1400;
/** 16 bytes as base64url. */
const SIGNATURE_LENGTH = 22;

export class CursorSignature {
  readonly #db: Executor;
  #key: Promise<Buffer> | null = null;

  constructor(db: Executor) {
    this.#db = db;
  }

  async sign(trail: CursorTrail): Promise<string> {
    const payload = pack(trail);
    return payload + signatureOf(await this.#readKey(), payload);
  }

  /** Throws CURSOR_INVALID if the signature does not match. */
  async open(text: string): Promise<CursorTrail> {
    const payload = text.slice(0, -SIGNATURE_LENGTH);
    const [given, expected] = [
      Buffer.from(text.slice(-SIGNATURE_LENGTH)),
      Buffer.from(signatureOf(await this.#readKey(), payload)),
    ];
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      refuseCursor('it is damaged, or not signed by a server of this database');
    return parseTrail(inflateRawSync(Buffer.from(payload, 'base64url')).toString('utf8'));
  }

  #readKey(): Promise<Buffer> {
    this.#key ??= readCursorKey(this.#db);
    // Reads the key again next time if the database is unavailable.
    this.#key.catch(() => {
      this.#key = null;
    });
    return this.#key;
  }
}

function pack(trail: CursorTrail): string {
  for (let rest = trail; ; ) {
    const payload = deflateRawSync(trailText(rest)).toString('base64url');
    const shorter = payload.length <= MAX_LENGTH ? null : shorterTrail(rest);
    if (shorter === null) return payload;
    rest = shorter;
  }
}

function signatureOf(key: Buffer, payload: string): string {
  return createHmac('sha256', key).update(payload).digest('base64url').slice(0, SIGNATURE_LENGTH);
}
