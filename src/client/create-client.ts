// The typed client: one method per route, plus uploads with progress, event streams and paging. Runs in browsers and
// Node.
import { honoursKey } from '../contract/idempotency.ts';
import type { Route } from '../contract/route.ts';
import { ROUTES, type RouteName, type Routes } from '../contract/routes.ts';
import { withoutTrailing } from '../core/files/without-trailing.ts';
import { type FollowedEvent, readEvents, type StreamedEvent, type StreamOptions } from './follow-events.ts';
import { followJob } from './follow-job.ts';
import { type Download, readDownload } from './read-download.ts';
import { type Answered, type CallOptions, type Given, type RouteMethods, splitCall } from './route-call.ts';
import { unexpectedAnswer } from './rowmill-api-error.ts';
import { nameOf, sendFile, type UploadFile, type UploadOptions } from './send-file.ts';
import { type ResumePoint, sendInParts } from './send-in-parts.ts';
import { type Connection, sendRequest } from './send-request.ts';

export interface ClientOptions {
  /** URL of the server, with its path if it has one. In a browser, '' is the server of the page. */
  baseUrl: string;
  /** rmk_…; without it, the session of the browser is used. */
  apiKey?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Checks responses against the contract, for tests and for servers of another version. */
  validate?: boolean | undefined;
  /** Maximum retries of requests that are safe to repeat. Default 3. */
  maxRetries?: number | undefined;
  /** If the server asks for a longer wait, the request fails. Default 30,000. */
  maxRetryWaitMs?: number | undefined;
}

/** Routes that return pages. */
export type PagedRouteName = {
  [Name in RouteName]: Answered<Routes[Name]> extends { items: unknown[]; next: string | null }
    ? Name
    : never;
}[RouteName];
export type ItemOf<Name extends PagedRouteName> =
  Answered<Routes[Name]> extends { items: (infer Item)[] } ? Item : never;

/** Routes that return files. */
export type DownloadRouteName = {
  [Name in RouteName]: Answered<Routes[Name]> extends Download ? Name : never;
}[RouteName];

export interface Client extends RouteMethods {
  /** Creates a job from a file. `job` has the fields of createJob, except rows. */
  upload(
    file: UploadFile,
    job: Given<Routes['createJob']>,
    options?: UploadOptions,
  ): Promise<Answered<Routes['createJob']>>;
  /** Uploads a file in parts, or resumes it, without creating a job. Returns the id of the complete upload. */
  uploadParts(
    file: Blob,
    options: Omit<UploadOptions, 'resumable'> & { resumable: ResumePoint },
  ): Promise<string>;
  /** Shows how a file would be read. Nothing is stored. */
  preview(
    file: UploadFile,
    given?: Given<Routes['previewJob']>,
    options?: UploadOptions,
  ): Promise<Answered<Routes['previewJob']>>;
  /** Follows a job until it finishes, reconnecting as needed. The last event has the outcome. */
  follow(jobId: string, options?: StreamOptions): AsyncGenerator<FollowedEvent>;
  /** Events of all jobs and counters of the caller, or of all users with `all`, until the signal aborts. */
  events(options?: StreamOptions & { all?: boolean | undefined }): AsyncGenerator<StreamedEvent>;
  /** Items of all pages. Each page is requested when the previous one is used up. */
  pages<Name extends PagedRouteName>(
    name: Name,
    given: Given<Routes[Name]>,
    options?: CallOptions,
  ): AsyncGenerator<ItemOf<Name>>;
  /** Downloads an export or a file of a job. */
  download<Name extends DownloadRouteName>(
    name: Name,
    given: Given<Routes[Name]>,
    options?: CallOptions,
  ): Promise<Download>;
}

type AnyMethod = (given?: Record<string, unknown>, options?: CallOptions) => Promise<unknown>;

export function createClient(options: ClientOptions): Client {
  const connection: Connection = {
    base: withoutTrailing(options.baseUrl, '/'),
    apiKey: options.apiKey,
    headers: options.headers ?? {},
    // Browsers throw if fetch is called as a method of another object.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    isOwnFetch: options.fetch === undefined,
    maxRetries: options.maxRetries ?? 3,
    maxRetryWaitMs: options.maxRetryWaitMs ?? 30_000,
  };
  const validate = options.validate === true;
  const methods = Object.fromEntries(
    Object.entries(ROUTES as Record<string, Route>).map(([name, route]) => [
      name,
      (given = {}, call = {}) => callRoute(connection, route, given, call, validate),
    ]),
  ) as unknown as RouteMethods & Record<string, AnyMethod>;
  const send =
    (route: Route) =>
    async (file: UploadFile, job: object = {}, call: UploadOptions = {}): Promise<never> => {
      const response = await sendFile(connection, route, file, { ...job }, call);
      return (await readAnswer(route, response, validate)) as never;
    };
  const uploadParts: Client['uploadParts'] = (file, call) => {
    const { resumable, signal, headers, onProgress } = call;
    const name = nameOf(file, call);
    return sendInParts(connection, methods, file, name, resumable, { signal, headers, onProgress });
  };
  return {
    ...methods,
    uploadParts,
    upload: async (file, job, call = {}) => {
      const { resumable, onProgress: _, ...options } = call;
      if (!resumable || !(file instanceof Blob)) return send(ROUTES.createJob)(file, job, call);
      const point = resumable === true ? { uploadId: null } : resumable;
      const uploadId = await uploadParts(file, { ...call, resumable: point });
      return methods.createJob({ ...job, upload: { uploadId } }, options);
    },
    preview: send(ROUTES.previewJob),
    follow: (jobId, call = {}) => followJob(connection, methods.getJob, jobId, call),
    events: ({ all, ...call } = {}) =>
      readEvents(connection, splitCall(ROUTES.streamEvents, { all }).address, call),
    pages: (name, given, call) => readPages(methods[name] as AnyMethod, given, call),
    download: (name, given, call) => (methods[name] as AnyMethod)(given, call) as Promise<Download>,
  };
}

async function* readPages(
  ask: AnyMethod,
  given: object,
  options: CallOptions | undefined,
): AsyncGenerator<never> {
  let page = { ...given } as Record<string, unknown>;
  for (;;) {
    const { items, next } = (await ask(page, options)) as { items: never[]; next: string | null };
    yield* items;
    if (next === null) return;
    // The cursor already contains the start of the first page.
    const { fromSeq: _, ...rest } = page;
    page = { ...rest, cursor: next };
  }
}

async function callRoute(
  connection: Connection,
  route: Route,
  given: Record<string, unknown>,
  options: CallOptions,
  validate: boolean,
): Promise<unknown> {
  const { address, body } = splitCall(route, given);
  const type = route.answer.type ?? 'json';
  const response = await sendRequest(
    connection,
    {
      method: route.method,
      address,
      accept: ACCEPT[type],
      honoursKey: honoursKey(route),
      ...(body && { body: () => ({ content: JSON.stringify(body), contentType: 'application/json' }) }),
    },
    options,
  );
  return readAnswer(route, response, validate);
}

const ACCEPT = { json: 'application/json', bytes: '*/*', events: 'text/event-stream', text: 'text/plain' };

async function readAnswer(route: Route, response: Response, validate: boolean): Promise<unknown> {
  const { schema, type = 'json', status } = route.answer;
  if (type === 'bytes') return readDownload(response);
  if (type === 'events') return response.body;
  const text = await response.text();
  if (type === 'text') return text;
  if (status === 204 || schema === null) return undefined;
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw unexpectedAnswer(
      `${route.path} returned a response that is not JSON: ${text.slice(0, 100)}`,
      response.status,
    );
  }
  if (!validate) return answer;
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw unexpectedAnswer(
    `${route.path} returned a response that does not match its schema: ${issue?.path.join('.')}: ${issue?.message}`,
    response.status,
  );
}
