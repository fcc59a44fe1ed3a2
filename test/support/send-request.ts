// Sends one request on its own socket, with exactly the headers of the test; fetch adds and forbids some.
import { type IncomingHttpHeaders, request } from 'node:http';

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; null if it is not JSON. */
  body: Record<string, unknown> | null;
}

export interface Sent {
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown;
}

export function sendRequest(
  url: string,
  { method = 'GET', headers = {}, body }: Sent = {},
): Promise<Answered> {
  const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method,
        agent: false,
        headers: {
          ...(payload !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(payload),
          }),
          ...headers,
        },
      },
      (response) => {
        const status = response.statusCode ?? 0;
        // An event stream does not end.
        if (response.headers['content-type']?.startsWith('text/event-stream')) {
          response.destroy();
          resolve({ status, headers: response.headers, text: '', body: null });
          return;
        }
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status, headers: response.headers, text, body: parsed(text) }));
      },
    );
    sent.on('error', reject);
    sent.end(payload);
  });
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
