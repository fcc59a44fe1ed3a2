// The API version in URLs. The route table has paths without it: /api/jobs is /api/v1/jobs on the wire, and the bare
// path is an alias for now. docs/http-api.md describes what a version guarantees.

const BARE = '/api/';
const VERSIONED = '/api/v1/';

/** The path that clients request for a path of the table. */
export function versionedPath(path: string): string {
  return path.startsWith(BARE) ? VERSIONED + path.slice(BARE.length) : path;
}

/** A former path that is still an alias: POST /api/v1/jobs/:jobId/kickoff. */
const KICKOFF = /^(\/api\/jobs\/[^/?]+)\/kickoff(?=\?|$)/;

/** The path of the table for a requested path. */
export function barePath(address: string): string {
  const path = address.startsWith(VERSIONED) ? BARE + address.slice(VERSIONED.length) : address;
  return path.replace(KICKOFF, '$1/slice');
}
