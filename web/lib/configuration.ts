// Features and limits of this server.
import { useQuery } from '@tanstack/react-query';
import { client } from './client.ts';

export function useConfiguration() {
  return useQuery({
    queryKey: ['configuration'],
    queryFn: () => client.getConfiguration(),
    staleTime: 300_000,
  });
}
