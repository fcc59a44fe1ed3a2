// One line of the route table: request, access and response. Validation, the OpenAPI document, the client and the
// tests are derived from it. Nothing here depends on a server.
import { z } from 'zod';
import type { ErrorCode } from '../core/errors/error-registry.ts';
import type { Idempotency } from './idempotency.ts';
import type { Scope } from './scopes.ts';

/** The minimum role. `open`: no sign-in needed. */
export type Access = 'open' | 'viewer' | 'member' | 'admin';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface Route {
  method: Method;
  /** `:name` marks a parameter. A path with `:jobId` responds only for jobs that the caller may see. */
  path: `/${string}`;
  summary: string;
  access: Access;
  /** The scope that an API key needs. `any`: a key with any scope will do. */
  scope: Scope | 'any';
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The body may be multipart: a field `job` with the JSON body, then the part `file`. */
  upload?: boolean;
  /** Fields that identify an entry, for a list whose handler reads `limit` entries from the beginning. */
  pagedBy?: readonly string[];
  /** Default: `stored` for POST, `refused` for PATCH and DELETE. */
  idempotency?: Idempotency;
  /** The body is raw bytes: application/octet-stream. */
  takesBytes?: boolean;
  /** Status and schema of a successful response. */
  answer: {
    status: 200 | 201 | 202 | 204;
    schema: z.ZodType | null;
    type?: 'json' | 'bytes' | 'events' | 'text';
    /** A stored file: it has a strong ETag and supports range requests. */
    hasRanges?: boolean;
  };
  /** Errors besides those of every route. */
  errors?: readonly ErrorCode[];
}

/** Errors that any route can return. */
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

/** The shape of every error response. The fields of RFC 9457 repeat ours. */
export const errorAnswer = z
  .object({
    /** RFC 9457: identifies the kind of error, as `code` does. */
    type: z.string(),
    /** The kind of error in words. */
    title: z.string(),
    status: z.number().int(),
    /** Same as `message`. */
    detail: z.string(),
    code: z.string(),
    message: z.string(),
    hint: z.string(),
    /** The page and section that explain the code: docs/errors.md#job_not_found. */
    docs: z.string(),
    requestId: z.string(),
    /** The same request may succeed after this time, as in the Retry-After header; absent if it would fail again. */
    retryAfterMs: z.number().optional(),
    /** Invalid parts of the request. */
    issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Error' });
export type ErrorAnswer = z.infer<typeof errorAnswer>;
