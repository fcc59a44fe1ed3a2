// The signed-in user.
import { useQuery } from '@tanstack/react-query';
import { client, queries } from './client.ts';

export function useSession() {
  return useQuery({ queryKey: ['session'], queryFn: () => client.getSession(), staleTime: 60_000 });
}

export function useSignOut(): () => void {
  return () => {
    void client.signOut().finally(() => {
      queries.clear();
      location.reload();
    });
  };
}
