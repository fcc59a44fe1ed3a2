// Checks keys of the blob store. Rowmill creates all keys, never a user, so an invalid one is a bug. It is refused
// before it can become a path outside the folder or an object that cannot be listed.

const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const MAX_SEGMENT_LENGTH = 200;
const MAX_KEY_LENGTH = 800;

export function isBlobKey(key: string): boolean {
  return (
    key.length <= MAX_KEY_LENGTH &&
    key.split('/').every((segment) => segment.length <= MAX_SEGMENT_LENGTH && SEGMENT.test(segment))
  );
}

export function checkBlobKey(key: string): void {
  if (isBlobKey(key)) return;
  throw new TypeError(
    `expected a blob key to be segments of letters, digits, '.', '_' and '-' that do not start with a dot, at most ` +
      `${MAX_KEY_LENGTH} characters, got ${JSON.stringify(key.slice(0, 100))}`,
  );
}

/** A prefix is empty, or whole segments followed by the beginning of one. */
export function checkBlobPrefix(prefix: string): void {
  checkBlobKey(`${prefix}x`);
}

/** A range of bytes within a blob. `end` is exclusive. */
export interface BlobRange {
  start?: number;
  end?: number;
}

export function checkBlobRange(range: BlobRange): void {
  for (const [name, value] of Object.entries(range)) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) continue;
    throw new TypeError(
      `expected ${name} of a range of bytes to be a whole number of 0 or more, got ${value}`,
    );
  }
}
