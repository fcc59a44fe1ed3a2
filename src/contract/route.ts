// One line of the route table: what a request holds, who may send it, what comes back. Validation, the OpenAPI document, the
// client and the tests are all made from it. Nothing here knows of a server.
import { z } from 'zod';
import type { ErrorCode } from '../core/errors/error-registry.ts';
import type { Idempotency } from './idempotency.ts';
import type { Scope } from './scopes.ts';

/** The least role that may ask. `open`: nobody has to be signed in. */
export type Access = 'open' | 'viewer' | 'member' | 'admin';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Route {
  method: Method;
  /** With `:name` for parameters. A path with `:jobId` is answered only for jobs that the caller may see. */
  path: `/${string}`;
  summary: string;
  access: Access;
  /** The scope that an API key needs. `any`: whatever scopes it has. */
  scope: Scope | 'any';
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The body may be multipart: a field `job` with the JSON body, then the part `file`. */
  upload?: boolean;
  /** Fields that tell entries apart, for a list whose handler reads `limit` entries from its beginning. */
  pagedBy?: readonly string[];
  /** Default: `stored` for POST, `refused` for PATCH and DELETE. */
  idempotency?: Idempotency;
  /** The body is bytes as they are: application/octet-stream. */
  takesBytes?: boolean;
  /** Status and schema of what comes back when it went well. */
  answer: {
    status: 200 | 201 | 202 | 204;
    schema: z.ZodType | null;
    type?: 'json' | 'bytes' | 'events' | 'text';
    /** It is a stored file: it has a strong ETag, and parts of it can be asked for. */
    hasRanges?: boolean;
  };
  /** What may be refused besides the errors that any route has. */
  errors?: readonly ErrorCode[];
}

/** Refusals that any route can answer with. */
export const COMMON_ERRORS = [
  'REQUEST_INVALID',
  'RATE_LIMITED',
  'SERVER_BUSY',
  'SERVER_STOPPING',
  'DATABASE_UNREACHABLE',
  'INTERNAL_ERROR',
] as const satisfies readonly ErrorCode[];

export function defineRoutes<const Routes extends Record<string, Route>>(routes: Routes): Routes {
  return routes;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

export type ParamsOf<R extends Route> = Parsed<R['params']>;
export type QueryOf<R extends Route> = Parsed<R['query']>;
export type BodyOf<R extends Route> = Parsed<R['body']>;
export type AnswerOf<R extends Route> = R['answer']['schema'] extends z.ZodType
  ? z.output<R['answer']['schema']>
  : undefined;

/** The shape of every refusal. The fields of RFC 9457 say the same as ours. */
export const errorAnswer = z
  .object({
    /** RFC 9457: names the kind of refusal, as `code` does. */
    type: z.string(),
    /** The kind of refusal in words. */
    title: z.string(),
    status: z.number().int(),
    /** The message. */
    detail: z.string(),
    code: z.string(),
    message: z.string(),
    hint: z.string(),
    /** The page and section that explain the code: docs/errors.md#job_not_found. */
    docs: z.string(),
    requestId: z.string(),
    /** The same request may succeed after this time, as the header Retry-After says; absent: it would be answered the same. */
    retryAfterMs: z.number().optional(),
    /** Where in the request it is wrong. */
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Error' });
export type ErrorAnswer = z.infer<typeof errorAnswer>;
