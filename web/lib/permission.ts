// What the server would let whoever is signed in do.
import { useMemo } from 'react';
import { type Permission, permissionOf } from './permission-of.ts';
import { useSession } from './session.ts';

export function usePermission(): Permission {
  const { data } = useSession();
  return useMemo(() => permissionOf(data), [data]);
}
