// What has changed is fetched anew.
import type { QueryClient, QueryKey } from '@tanstack/react-query';

/** All queries whose key begins so. */
export function refresh(queries: QueryClient, queryKey: QueryKey = []): void {
  // The first answer of a query is waited for, not asked for anew, and then counts as fresh. It may have left the server
  // before the change: once it is kept, it is asked for again.
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
