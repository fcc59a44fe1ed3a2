// Permissions of the signed-in user.
import { useMemo } from 'react';
import { type Permission, permissionOf } from './permission-of.ts';
import { useSession } from './session.ts';

export function usePermission(): Permission {
  const { data } = useSession();
  return useMemo(() => permissionOf(data), [data]);
}
