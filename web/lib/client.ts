// The API client of the page and its query cache.
import { QueryClient } from '@tanstack/react-query';
import { type Client, createClient } from '../../src/client/create-client.ts';
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';
import { basePath } from './server-page.ts';
import { sessionEnd } from './session-end.ts';

export const client = noticing(createClient({ baseUrl: basePath }));

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // The client already retries.
      retry: false,
      refetchOnWindowFocus: true,
    },
  },
});

export function isSignedOut(error: unknown): boolean {
  return error instanceof RowmillApiError && error.status === 401;
}

/** Reports a refused request to `sessionEnd` when there was a session before. */
export function noticeSessionEnd(error: unknown): void {
  const isRefused = error instanceof RowmillApiError && error.code === 'UNAUTHENTICATED';
  if (isRefused && queries.getQueryData(['session']) !== undefined) sessionEnd.notice();
}

/** Wraps every request of the client so that it notices the end of the session. Event streams notice it themselves. */
function noticing(plain: Client): Client {
  type Method = (...given: unknown[]) => unknown;
  const methods = Object.entries(plain as unknown as Record<string, Method>).map(([name, method]) => [
    name,
    (...given: unknown[]) => {
      const answer = method(...given);
      if (answer instanceof Promise) answer.catch(noticeSessionEnd);
      return answer;
    },
  ]);
  return Object.fromEntries(methods) as Client;
}
