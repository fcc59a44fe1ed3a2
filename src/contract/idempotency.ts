// How routes treat the header Idempotency-Key. Kept apart from the schemas of the routes, which the page does not load.
import type { Route } from './route.ts';

/**
 * How a route treats the header Idempotency-Key. `stored`: it is carried out once, and its first answer is given again.
 * `own`: the key names what is made. `refused`: the answer holds a secret, the body is not known before it is read, or a
 * repetition does no harm.
 */
export type Idempotency = 'stored' | 'own' | 'refused';

/** Null: nothing is changed, so a key means nothing. */
export function idempotencyOf({
  method,
  idempotency,
}: Pick<Route, 'method' | 'idempotency'>): Idempotency | null {
  if (method === 'GET') return null;
  return idempotency ?? (method === 'POST' ? 'stored' : 'refused');
}

/** Requests to it with the same key are carried out once. */
export function honoursKey(route: Pick<Route, 'method' | 'idempotency'>): boolean {
  return ['stored', 'own'].includes(idempotencyOf(route) ?? '');
}
