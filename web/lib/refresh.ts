// Refetches queries after a change.
import type { QueryClient, QueryKey } from '@tanstack/react-query';

/** Refetches all queries whose key begins with `queryKey`. */
export function refresh(queries: QueryClient, queryKey: QueryKey = []): void {
  // A first fetch in flight is not refetched and would count as fresh, although its answer may have left the server
  // before the change. It is refetched as soon as it arrives.
  for (const query of queries.getQueryCache().findAll({ queryKey })) {
    if (query.state.data !== undefined || query.state.fetchStatus === 'idle') continue;
    const again = () => void queries.invalidateQueries({ queryKey: query.queryKey, exact: true });
    query.promise?.then(
      () => setTimeout(again),
      () => {},
    );
  }
  void queries.invalidateQueries({ queryKey });
}
