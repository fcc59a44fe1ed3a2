// Arguments and results of the client's methods, by route. Parameters, query and body are merged into one object.
import type { z } from 'zod';
import { versionedPath } from '../contract/api-version.ts';
import type { AnswerOf, Route } from '../contract/route.ts';
import type { RouteName, Routes } from '../contract/routes.ts';
import type { Download } from './read-download.ts';

/** Numbers, flags and lists are strings in a URL, but keep their types here. */
type GivenText<Schema> = Schema extends z.ZodObject
  ? {
      [Key in keyof z.input<Schema>]:
        | (Key extends keyof z.output<Schema> ? z.output<Schema>[Key] : never)
        | (unknown extends z.input<Schema>[Key] ? never : z.input<Schema>[Key])
        | undefined;
    }
  : unknown;
type GivenBody<Schema> = Schema extends z.ZodType ? z.input<Schema> : unknown;

export type Given<R extends Route> = GivenText<R['params']> & GivenText<R['query']> & GivenBody<R['body']>;

export type Answered<R extends Route> = R['answer'] extends { type: 'bytes' }
  ? Download
  : R['answer'] extends { type: 'text' }
    ? string
    : R['answer'] extends { type: 'events' }
      ? ReadableStream<Uint8Array>
      : AnswerOf<R>;

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Makes a POST safe to repeat if its response got lost: the same key is the same request. Some routes refuse it. */
  idempotencyKey?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Receives the response before its body is read, for its headers. */
  onAnswer?: ((response: Response) => void) | undefined;
}

/** The argument is optional if all its fields are. */
export type RouteMethod<R extends Route> =
  object extends Given<R>
    ? (given?: Given<R>, options?: CallOptions) => Promise<Answered<R>>
    : (given: Given<R>, options?: CallOptions) => Promise<Answered<R>>;

export type RouteMethods = { [Name in RouteName]: RouteMethod<Routes[Name]> };

export interface SplitCall {
  /** Path and query, without the base. */
  address: string;
  body: Record<string, unknown> | undefined;
}

/** Splits the arguments into path, query and body. */
export function splitCall(route: Route, given: Readonly<Record<string, unknown>>): SplitCall {
  const inPath = new Set<string>();
  const path = versionedPath(route.path).replace(/:([A-Za-z]+)/g, (_, name: string) => {
    inPath.add(name);
    return encodeURIComponent(String(given[name]));
  });
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || inPath.has(name)) continue;
    // Without a body, unknown fields go into the query, so that the server refuses them with a reason.
    if (route.body === undefined || (route.query && name in route.query.shape)) {
      for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
        query.append(name, String(each));
    } else body[name] = value;
  }
  const search = query.toString();
  return { address: search === '' ? path : `${path}?${search}`, body: route.body ? body : undefined };
}
