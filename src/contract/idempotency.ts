// How routes treat the Idempotency-Key header. Separate from the schemas of the routes, which the page does not load.
import type { Route } from './route.ts';

/**
 * `stored`: the request runs once, and its first response is repeated. `own`: the key identifies the created object.
 * `refused`: the response holds a secret, the body is unknown before it is read, or repeating the request does no
 * harm.
 */
export type Idempotency = 'stored' | 'own' | 'refused';

/** Returns null if the route changes nothing, so that a key has no meaning. */
export function idempotencyOf({
  method,
  idempotency,
}: Pick<Route, 'method' | 'idempotency'>): Idempotency | null {
  if (method === 'GET') return null;
  return idempotency ?? (method === 'POST' ? 'stored' : 'refused');
}

/** True if requests with the same key run only once. */
export function honoursKey(route: Pick<Route, 'method' | 'idempotency'>): boolean {
  return ['stored', 'own'].includes(idempotencyOf(route) ?? '');
}
