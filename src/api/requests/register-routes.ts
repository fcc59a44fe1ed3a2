// Registers every route of the table: authenticate, authorize, validate, then call the handler. The caller is
// authenticated before the body is read.
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Route } from '../../contract/route.ts';
import { ROUTES, type Routes } from '../../contract/routes.ts';
import { PAGE_ALIASES } from '../../contract/values.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Reserved } from '../../engine/jobs/answer-once.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { readVisibleJob } from '../../store/views/jobs/read-job.ts';
import { type Actor, actorLabel, checkAllowed, seenBy } from './actor.ts';
import { ClientGoneError } from './answer-error.ts';
import { checkIdempotencyKey, keepAnswer, reserveOnce } from './answer-once.ts';
import type { ApiContext } from '../api-context.ts';
import { admitAnybody, authenticate } from './authenticate.ts';
import { checkBody } from './check-body.ts';
import { checkStorable } from './check-storable.ts';
import { dropIdleReader } from './drop-slow-clients.ts';
import type { ApiRequest, BytesAnswer, Handler, Handlers } from './handler.ts';
import { HeldBytes } from './held-bytes.ts';
import { bodyBounds, holdBody, WITH_ROWS } from './hold-body.ts';
import { linkPages, openPage } from '../answers/page-cursors.ts';
import { parseGiven } from './parse-given.ts';
import { RequestNotes } from './request-notes.ts';
import { callerOf, RequestRate } from './request-rate.ts';
import { sendBytes } from '../answers/send-bytes.ts';
import { sendText } from '../answers/send-text.ts';
import { publicPath } from '../serve-web.ts';

export function registerRoutes(app: FastifyInstance, handlers: Handlers<Routes>, context: ApiContext): void {
  const { apiRequestsPerSecond: perSecond, apiRequestBurst: burst } = context.engine.settings;
  const rate = new RequestRate({ perSecond, burst });
  const notes = new RequestNotes(context);
  const held = new HeldBytes(context.engine.settings, context.metrics);
  for (const [name, route] of Object.entries(ROUTES) as [keyof Routes, Route][]) {
    const handle = handlers[name] as unknown as Handler<Route>;
    const add = (scope: FastifyInstance): unknown =>
      scope.route({
        method: route.method,
        url: route.path,
        bodyLimit: context.engine.settings[bodyBounds(name).bodyLimitName],
        config: bodyBounds(name) as object,
        // A HEAD request would open an event stream that is never read or closed.
        exposeHeadRoute: route.method === 'GET' && route.answer.type !== 'events',
        onRequest: (raw, reply) => admit(route, raw, reply, rate, context),
        ...(!route.takesBytes && {
          preParsing: async (raw, reply, payload) =>
            holdBody(held, context, admitted.get(raw) ?? null, raw, reply, payload as Readable),
        }),
        handler: (raw, reply) => answer(name, handle, raw, reply, context, notes),
      });
    if (route.takesBytes) void app.register(async (scope) => void add(leaveBytes(scope)));
    else add(app);
  }
}

/** Leaves the body of upload routes to their handlers. */
function leaveBytes(scope: FastifyInstance): FastifyInstance {
  scope.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
  return scope;
}

const admitted = new WeakMap<FastifyRequest, Actor | null>();

async function admit(
  route: Route,
  raw: FastifyRequest,
  reply: FastifyReply,
  rate: RequestRate,
  context: ApiContext,
): Promise<void> {
  // Open routes need no lookup of the caller, so they work while the database is down.
  const isOpen = route.access === 'open';
  const actor = isOpen ? admitAnybody(raw, context) : await authenticate(raw, context);
  if (route.path !== '/healthz') rate.take(callerOf(actor, raw.ip));
  if (actor === null && !isOpen && raw.headers.authorization !== undefined)
    throw new RowmillError(
      'UNAUTHENTICATED',
      'unknown, revoked or expired API key; expected `Authorization: Bearer rmk_…`',
    );
  checkAllowed(actor, route);
  checkIdempotencyKey(route, raw);
  checkBody(route, raw, reply);
  admitted.set(raw, actor);
}

async function answer(
  name: keyof Routes,
  handle: Handler<Route>,
  raw: FastifyRequest,
  reply: FastifyReply,
  context: ApiContext,
  notes: RequestNotes,
): Promise<unknown> {
  const route: Route = ROUTES[name];
  const actor = admitted.get(raw) ?? null;
  const params = parse(route.params, raw.params, 'params');
  const job = route.path.includes(':jobId')
    ? await visibleJob(context, actor!, (params as { jobId: string }).jobId)
    : undefined;
  const query = queryOf(route, raw);
  const page = await openPage(route, `${name} ${JSON.stringify(params)}`, query, context.cursors);
  const request: ApiRequest<Route> = {
    actor: actor as Actor,
    params: params as never,
    query: (page?.query ?? query) as never,
    body: (route.upload && raw.isMultipart() ? undefined : bodyOf(name, raw)) as never,
    job: job as never,
    engine: {
      ...context.engine,
      by: { actor: actor ? actorLabel(actor) : 'nobody', requestId: raw.id, address: raw.ip },
    },
    requestId: raw.id,
    address: raw.ip,
    signal: goneSignal(raw, reply),
    raw,
    reply,
  };
  const reserved = await reserveOnce(name, route, request);
  if (reserved?.kind === 'answered') return sendAgain(reply, reserved.answer);
  const startedMs = monotonicMs();
  const answered = reserved
    ? await handleOnce(route, reserved, handle, request, context)
    : await handle(request, context);
  notes.note(name, monotonicMs() - startedMs, {
    requestId: raw.id,
    query: request.query,
    answer: answered,
  });
  const { status, type = 'json' } = route.answer;
  if (type === 'events') return reply;
  dropIdleReader(reply.raw, context.engine.settings.apiIdleMs);
  void reply.code(status);
  if (type === 'bytes') return sendBytes(reply, answered as unknown as BytesAnswer);
  if (type === 'text')
    return sendText(reply, raw, { text: String(answered), type: 'text/plain; charset=utf-8' });
  const sent = page === null ? answered : await page.close(answered as object);
  if (page !== null) linkPages(reply, raw, publicPath(context.engine.settings.apiPublicUrl), sent as object);
  if (route.method !== 'GET') return status === 204 ? reply.send() : reply.send(sent);
  return sendText(reply, raw, { text: JSON.stringify(sent), type: 'application/json; charset=utf-8' });
}

/** Runs to completion even if the client disconnects, because it can retry with the same key and get the answer. */
async function handleOnce(
  route: Route,
  reserved: Extract<Reserved, { kind: 'new' }>,
  handle: Handler<Route>,
  request: ApiRequest<Route>,
  context: ApiContext,
): Promise<unknown> {
  try {
    const answered = await handle({ ...request, signal: new AbortController().signal }, context);
    await keepAnswer(reserved, { status: route.answer.status, answered }, request, context);
    return answered;
  } catch (error) {
    await keepAnswer(reserved, { error }, request, context);
    throw error;
  }
}

function sendAgain(reply: FastifyReply, { status, text }: { status: number; text: string }): FastifyReply {
  void reply.code(status).header('idempotent-replayed', 'true');
  return status === 204 ? reply.send() : reply.type('application/json; charset=utf-8').send(text);
}

/** A job of another owner is answered like a missing one. */
async function visibleJob(context: ApiContext, actor: Actor, jobId: string) {
  const job = await readVisibleJob(context.engine.db, jobId, seenBy(actor));
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  return job;
}

const NO_QUERY = z.strictObject({});

/** Refuses unknown parameters, also on routes without a query, because they would be ignored. */
function queryOf(route: Route, raw: FastifyRequest): unknown {
  const schema = route.query ?? NO_QUERY;
  const query = parse(schema, withoutAliases(schema, raw.query as Record<string, unknown>), 'query');
  return route.query && query;
}

/** Renames aliases of paging parameters to the names that handlers use. */
function withoutAliases(schema: z.ZodObject, given: Record<string, unknown>): Record<string, unknown> {
  const query = { ...given };
  for (const [alias, name] of Object.entries(PAGE_ALIASES)) {
    if (query[alias] === undefined || !(alias in schema.shape)) continue;
    if (query[name] !== undefined)
      throw new RowmillError('REQUEST_INVALID', `query: expected ${name} or ${alias}, got both`);
    query[name] = query[alias];
    delete query[alias];
  }
  return query;
}

function parse(schema: z.ZodType | undefined, given: unknown, where: 'params' | 'query' | 'body'): unknown {
  if (!schema) return undefined;
  // PostgreSQL cannot store NUL, so nothing could match it.
  if (
    where !== 'body' &&
    Object.values(given ?? {})
      .flat()
      .some((text) => String(text).includes('\0'))
  )
    throw new RowmillError('REQUEST_INVALID', `${where}: expected no NUL character`);
  return parseGiven(schema, given === undefined ? {} : given, where);
}

/** Unstorable characters are replaced in rows, whose use cases check the rest; elsewhere they are refused. */
function bodyOf(name: keyof Routes, raw: FastifyRequest): unknown {
  const body = parse((ROUTES[name] as Route).body, raw.body, 'body');
  if (body !== undefined && !WITH_ROWS.includes(name)) checkStorable(body);
  return body;
}

function goneSignal(raw: FastifyRequest, reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(new ClientGoneError());
  });
  raw.raw.once('error', (error) => gone.abort(new ClientGoneError(error)));
  return gone.signal;
}
