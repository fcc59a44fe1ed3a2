// The HTTP server: limits, headers, errors and routes around one Fastify instance.
import type { Server } from 'node:http';
import multipart from '@fastify/multipart';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyHttpOptions,
} from 'fastify';
import { barePath } from '../contract/api-version.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { newId } from '../platform/random.ts';
import { answerBrokenRequest } from './requests/answer-broken-request.ts';
import { answerError } from './requests/answer-error.ts';
import type { ApiContext } from './api-context.ts';
import { boundConnections } from './requests/bound-connections.ts';
import { addCrossSiteRules, checkPublicUrl } from './requests/cross-site.ts';
import { addDocsPage } from './documents/docs-page.ts';
import { drainRequests } from './requests/drain-requests.ts';
import { dropSlowSenders } from './requests/drop-slow-clients.ts';
import { registerRoutes } from './requests/register-routes.ts';
import { HANDLERS } from './routes/all.ts';
import { addSecurityHeaders, setSecurityHeaders } from './requests/security-headers.ts';
import { publicPath, serveWeb, withoutPath } from './serve-web.ts';

const HEADERS_MAX_BYTES = 16_384;
const HEADERS_CHECK_MS = 5000;
const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'] as const;

export async function createServer(
  context: ApiContext,
  { graceMs }: { graceMs: number },
): Promise<FastifyInstance> {
  const { settings } = context.engine;
  checkPublicUrl(settings);
  const path = publicPath(settings.apiPublicUrl);
  const isHttps = settings.apiPublicUrl.startsWith('https:');
  const app = fastify(serverOptions(context, path, isHttps));
  drainRequests(app, graceMs);
  const sendPage = await serveWeb(app, path);
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply, context.log));
  const refuse = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    refuseAddress(app, request, reply, context);
  app.setNotFoundHandler((request, reply) =>
    sendPage !== null && isForPage(request) ? sendPage(reply) : refuse(request, reply),
  );
  boundConnections(app, settings, context.metrics);
  app.addHook('onRequest', async ({ headers, raw }) => {
    if (headers.host === undefined && raw.httpVersion === '1.1')
      throw new RowmillError('REQUEST_INVALID', 'expected the header Host');
  });
  dropSlowSenders(app, settings);
  await addCrossSiteRules(app, settings);
  addSecurityHeaders(app, { isHttps });
  // Refused before the body is read, because unauthenticated callers can send one.
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404 && !isForPage(request)) return refuse(request, reply);
  });
  await app.register(multipart, {
    limits: {
      files: 1,
      fields: 1,
      parts: 2,
      fieldSize: settings.apiBodyMaxBytes,
      fileSize: settings.uploadMaxBytes,
    },
  });
  registerRoutes(app, HANDLERS, context);
  await addDocsPage(app, path);
  return app;
}

function serverOptions(
  { engine, log }: ApiContext,
  path: string,
  isHttps: boolean,
): FastifyHttpOptions<Server> {
  const { settings } = engine;
  return {
    // The proxy in front may or may not strip the base path.
    rewriteUrl: ({ url = '/' }) => barePath(withoutPath(url, path)),
    genReqId: () => newId(),
    bodyLimit: settings.apiBodyMaxBytes,
    trustProxy: (_address: string, hop: number) => hop < settings.apiTrustedProxies,
    // Uploads have no time limit; other bodies have apiBodyMs.
    requestTimeout: 0,
    connectionTimeout: 0,
    // drain-requests.ts refuses them, in the shape of every refusal.
    return503OnClosing: false,
    http: {
      // Checked in createServer instead, which answers with a body.
      requireHostHeader: false,
      maxHeaderSize: HEADERS_MAX_BYTES,
      headersTimeout: settings.apiHeaderMs,
      // Interval at which Node looks for late headers.
      connectionsCheckingInterval: Math.min(HEADERS_CHECK_MS, settings.apiHeaderMs),
    },
    clientErrorHandler: (error, socket) =>
      answerBrokenRequest(error, socket, {
        headersMaxBytes: HEADERS_MAX_BYTES,
        headerMs: settings.apiHeaderMs,
      }),
    forceCloseConnections: true,
    // Longer than any header, so that the schema refuses long parameters in the shape of every refusal.
    routerOptions: { maxParamLength: HEADERS_MAX_BYTES },
    // URLs that cannot be decoded reach no route and no hook.
    frameworkErrors: (error, request, reply) => {
      setSecurityHeaders(reply, { isHttps });
      answerError(error, request, reply, log);
    },
  };
}

function refuseAddress(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  { log }: ApiContext,
): FastifyReply {
  const address = addressOf(request);
  const other = METHODS.filter((method) => app.findRoute({ method, url: address }) !== null);
  if (other.length > 0) void reply.header('allow', other.join(', '));
  const refusal =
    other.length > 0
      ? new RowmillError('METHOD_NOT_ALLOWED', `expected ${other.join(' or ')}, got ${request.method}`)
      : new RowmillError('ROUTE_NOT_FOUND', 'there is nothing at this URL');
  return answerError(refusal, request, reply, log);
}

/** True for URLs of screens: anything a browser displays outside of /api. */
function isForPage(request: FastifyRequest): boolean {
  const { method, headers } = request;
  const address = addressOf(request);
  const isApi = address === '/api' || address.startsWith('/api/');
  const { accept = '*/*' } = headers;
  const takesPage = accept.includes('text/html') || (address === '/' && /(\*|text)\/\*/.test(accept));
  return ['GET', 'HEAD'].includes(method) && !isApi && takesPage;
}

function addressOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0]!;
}
