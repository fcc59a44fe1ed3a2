// Features and limits of this server.
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { client, queries } from './client.ts';
import { refresh } from './refresh.ts';

const RELOAD_POLL_MS = 1000;

export function useConfiguration() {
  return useQuery({
    queryKey: ['configuration'],
    queryFn: () => client.getConfiguration(),
    staleTime: 300_000,
    // Only `rowmill dev` reloads.
    refetchInterval: ({ state }) => (state.data?.reload ? RELOAD_POLL_MS : false),
  });
}

/** Why the last reload of `rowmill dev` failed; null if it did not. A reload may change the pipelines. */
export function useReloadError(): { message: string; hint: string } | null {
  const reload = useConfiguration().data?.reload;
  const count = reload?.count ?? 0;
  useEffect(() => {
    if (count > 0) refresh(queries, ['pipelines']);
  }, [count]);
  return reload?.error ?? null;
}
