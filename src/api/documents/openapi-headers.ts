// Headers of requests and answers in the OpenAPI document, derived from the route.
import { honoursKey } from '../../contract/idempotency.ts';
import type { Route } from '../../contract/route.ts';
import type { ErrorCode } from '../../core/errors/error-registry.ts';
import { ERROR_REGISTRY } from '../../core/errors/error-registry.ts';

type Schema = Record<string, unknown>;

const TEXT = { type: 'string' };

/** True if answers have an ETag. */
export function hasTag({ method, answer }: Route): boolean {
  return method === 'GET' && (answer.hasRanges === true || ['json', 'text'].includes(answer.type ?? 'json'));
}

export function headerParameters(route: Route): Schema[] {
  const header = (name: string, description: string, schema: Schema = TEXT): Schema => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  });
  return [
    ...(honoursKey(route)
      ? [
          header('Idempotency-Key', 'Requests with the same key are carried out once.', {
            type: 'string',
            minLength: 1,
            maxLength: 200,
          }),
        ]
      : []),
    ...(hasTag(route)
      ? [header('If-None-Match', 'ETag of an answer that the client has: 304 if it is unchanged.')]
      : []),
    ...(route.answer.hasRanges
      ? [
          header('Range', 'One range of bytes, such as bytes=100-199, answered with 206.'),
          header(
            'If-Range',
            'ETag or Last-Modified of the file that the range belongs to; a changed file is sent whole.',
          ),
        ]
      : []),
    ...(route.answer.type === 'events'
      ? [header('Last-Event-ID', 'Position of the last event received: the stream resumes after it.')]
      : []),
  ];
}

/** Headers of successful answers. */
export function answerHeaders(route: Route): Schema {
  const isList = route.query !== undefined && 'cursor' in route.query.shape;
  return headersOf({
    'X-Request-Id': 'Id of the request in the server log.',
    ...(hasTag(route) && { ETag: 'For If-None-Match.' }),
    ...(isList && { Link: 'RFC 8288: the pages first, prev and next, if they exist.' }),
    ...(honoursKey(route) && { 'Idempotent-Replayed': 'true: the first answer to this Idempotency-Key.' }),
    ...(route.answer.type === 'bytes' && {
      'Accept-Ranges': 'bytes, or none.',
      'Content-Disposition': 'Name of the file.',
    }),
    ...(route.takesBytes && { 'Upload-Offset': 'Offset of the next part.' }),
  });
}

export function refusalHeaders(codes: readonly ErrorCode[]): Schema {
  const isAny = (status: number): boolean => codes.some((code) => ERROR_REGISTRY[code].status === status);
  return headersOf({
    'X-Request-Id': 'Id of the request in the server log.',
    ...(isAny(401) && { 'WWW-Authenticate': 'Bearer.' }),
    ...(isAny(415) && { Accept: 'Media types that the route accepts.' }),
    ...(isAny(416) && { 'Content-Range': 'Length of the file.' }),
    ...([409, 429, 503].some(isAny) && { 'Retry-After': 'Seconds to wait before a retry.' }),
  });
}

function headersOf(descriptions: Record<string, string>): Schema {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [name, { description, schema: TEXT }]),
  );
}
