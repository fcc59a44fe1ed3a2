// Checks from the headers whether the route accepts the body, before a byte of it is read. A body that would be
// ignored is refused, because the client relies on it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mediaTypesOf } from '../../contract/body-media.ts';
import type { Route } from '../../contract/route.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

const CHARSETS = ['utf-8', 'utf8', 'us-ascii'];

export function checkBody(route: Route, { headers }: FastifyRequest, reply: FastifyReply): void {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody) return;
  const taken = mediaTypesOf(route);
  if (taken.length === 0)
    throw new RowmillError('REQUEST_INVALID', 'this route does not accept a body', {
      hint: 'Send the request without a body. See /api/v1/openapi.json for the query parameters.',
    });
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding !== 'identity') {
    void reply.header('accept-encoding', 'identity');
    throw new RowmillError('MEDIA_TYPE_UNSUPPORTED', 'expected a body without Content-Encoding', {
      hint: 'Send the body uncompressed. A gzip file can be sent as it is, without the header.',
    });
  }
  const given = headers['content-type'];
  const { type, charset } = mediaTypeOf(given ?? '');
  const isTaken = taken.includes(type) && (type !== 'application/json' || CHARSETS.includes(charset));
  if (isTaken) return;
  void reply.header('accept', taken.join(', '));
  const got = given === undefined ? 'none' : given.slice(0, 100);
  throw new RowmillError(
    'MEDIA_TYPE_UNSUPPORTED',
    `expected the Content-Type ${taken.join(' or ')}, got ${got}`,
  );
}

function mediaTypeOf(header: string): { type: string; charset: string } {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((each) => each.startsWith('charset='))?.slice('charset='.length);
  return { type, charset: charset?.replaceAll('"', '') ?? 'utf-8' };
}
