// Answers connections whose headers are malformed, too long or too slow. The answer has the shape of every refusal,
// and the connection is closed.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { refusalBody } from './refusal-body.ts';

export function answerBrokenRequest(
  error: NodeJS.ErrnoException,
  socket: Socket,
  limits: { headersMaxBytes: number; headerMs: number },
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const [status, message] = describe(error.code, limits);
  const refusal = refusalBody(new RowmillError('REQUEST_INVALID', message), newId());
  const body = JSON.stringify({ ...refusal, status });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    `x-request-id: ${refusal.requestId}`,
    'connection: close',
  ];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroy(error);
}

function describe(
  code: string | undefined,
  { headersMaxBytes, headerMs }: { headersMaxBytes: number; headerMs: number },
): [status: number, message: string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return [408, `expected the headers of the request within ${headerMs} ms (apiHeaderMs)`];
  if (code === 'HPE_HEADER_OVERFLOW')
    return [431, `expected the headers of the request to have at most ${headersMaxBytes} bytes`];
  return [400, 'expected a valid HTTP request'];
}
