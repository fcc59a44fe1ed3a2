// Stands in for handlers that are being written.
import type { Route } from '../../contract/route.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import type { Handlers } from '../handler.ts';

export function unbuilt<Routes extends Record<string, Route>>(routes: Routes): Handlers<Routes> {
  const refuse = () => Promise.reject(new RowmillError('FEATURE_DISABLED', 'this route is not built yet'));
  return Object.fromEntries(Object.keys(routes).map((name) => [name, refuse])) as unknown as Handlers<Routes>;
}
