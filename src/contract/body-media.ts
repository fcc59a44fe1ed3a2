// Media types of the bodies that a route takes; empty: it takes none.
import type { Route } from './route.ts';

export function mediaTypesOf({ body, upload, takesBytes }: Route): string[] {
  if (takesBytes) return ['application/octet-stream'];
  if (!body) return [];
  return upload ? ['application/json', 'multipart/form-data'] : ['application/json'];
}
