// The version of the API in its addresses. The table of routes has paths without it: /api/jobs is /api/v1/jobs on the wire,
// and the bare path is an alias for now. docs/http-api.md says what a version promises.

const BARE = '/api/';
const VERSIONED = '/api/v1/';

/** The address that clients use for a path of the table. */
export function versionedPath(path: string): string {
  return path.startsWith(BARE) ? VERSIONED + path.slice(BARE.length) : path;
}

/** A former name that is still an alias: POST /api/v1/jobs/:jobId/kickoff. */
const KICKOFF = /^(\/api\/jobs\/[^/?]+)\/kickoff(?=\?|$)/;

/** The path of the table that an address is of. */
export function barePath(address: string): string {
  const path = address.startsWith(VERSIONED) ? BARE + address.slice(VERSIONED.length) : address;
  return path.replace(KICKOFF, '$1/slice');
}
