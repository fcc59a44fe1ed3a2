// The one client of the page, and how its errors and answers are kept.
import { QueryClient } from '@tanstack/react-query';
import { createClient } from '../../src/client/create-client.ts';
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';
import { basePath } from './server-page.ts';

export const client = createClient({ baseUrl: basePath });

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // The client repeats what is worth repeating.
      retry: false,
      refetchOnWindowFocus: true,
    },
  },
});

export function isSignedOut(error: unknown): boolean {
  return error instanceof RowmillApiError && error.status === 401;
}
