// The page to try the API at /api/docs: made from the route table, with its scripts in files, so that no page of this
// server has to allow scripts of its own text.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from './openapi.ts';

// The page sets styles on its elements; nothing else differs from the other pages.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "object-src 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `path` is what stands in front of all addresses. */
export async function addDocsPage(app: FastifyInstance, path: string): Promise<void> {
  await app.register(swagger, {
    mode: 'static',
    specification: { document: openApiDocument(path) as never },
  });
  await app.register(swaggerUi, {
    routePrefix: '/api/docs',
    indexPrefix: path,
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: { title: 'Rowmill API' },
    uiConfig: { docExpansion: 'none', tryItOutEnabled: true, validatorUrl: null },
  });
}
