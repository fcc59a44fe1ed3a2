// Password hashes: scrypt, with its parameters in the stored text, so that they can be raised. A hash takes 128 MiB
// and half a second, so a process computes only two at once, and refuses more when its queue is full.
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

const LOG_N = 17;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const AT_ONCE = 2;
const MAX_WAITING = 100;
const STORED = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Too many passwords are waiting to be hashed. */
export class HashQueueFullError extends Error {
  constructor() {
    super('too many passwords are being checked');
    this.name = 'HashQueueFullError';
  }
}

interface Parameters {
  logN: number;
  r: number;
  p: number;
}

/** Returns `$scrypt$ln=17,r=8,p=1$salt$hash`. Tests pass a lower cost. */
export async function hashPassword(password: string, logN = LOG_N): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const parameters = { logN, r: BLOCK_SIZE, p: PARALLEL };
  const hash = await derive(password, salt, HASH_BYTES, parameters);
  return `$scrypt$ln=${logN},r=${BLOCK_SIZE},p=${PARALLEL}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Pass null for an unknown account: does the same work (constant time) and returns false. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const parts = STORED.exec(stored ?? UNKNOWN);
  if (!parts) throw new Error('a stored password is not a scrypt hash');
  const [logN, r, p] = parts.slice(1, 4).map(Number) as [number, number, number];
  const [salt, expected] = parts.slice(4).map((text) => Buffer.from(text, 'base64')) as [Buffer, Buffer];
  const hash = await derive(password, salt, expected.length, { logN, r, p });
  return timingSafeEqual(hash, expected) && stored !== null;
}

/** Matches no password. */
const UNKNOWN = `$scrypt$ln=${LOG_N},r=${BLOCK_SIZE},p=${PARALLEL}$${unpadded(Buffer.alloc(SALT_BYTES, 7))}$${unpadded(Buffer.alloc(HASH_BYTES))}`;

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

let running = 0;
const waiting: (() => void)[] = [];

async function derive(
  password: string,
  salt: Buffer,
  length: number,
  { logN, r, p }: Parameters,
): Promise<Buffer> {
  const N = 2 ** logN;
  const options: ScryptOptions = { N, r, p, maxmem: 128 * N * r * p + 1024 * 1024 * 2 };
  await takePlace();
  try {
    return await new Promise((resolve, reject) => {
      scrypt(password.normalize('NFKC'), salt, length, options, (error, hash) =>
        error ? reject(error) : resolve(hash),
      );
    });
  } finally {
    // Pass the slot to the longest waiting call, if any.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}

async function takePlace(): Promise<void> {
  if (running < AT_ONCE) {
    running += 1;
    return;
  }
  if (waiting.length >= MAX_WAITING) throw new HashQueueFullError();
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
  });
}
