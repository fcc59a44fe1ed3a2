// Media types of the request bodies that a route accepts; empty if it has no body.
import type { Route } from './route.ts';

export function mediaTypesOf({ body, upload, takesBytes }: Route): string[] {
  if (takesBytes) return ['application/octet-stream'];
  if (!body) return [];
  return upload ? ['application/json', 'multipart/form-data'] : ['application/json'];
}
