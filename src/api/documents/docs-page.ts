// The interactive API page at /api/docs, generated from the route table. Its scripts are in files, so that no page of
// this server has to allow inline scripts.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from './openapi.ts';

// The page sets inline styles; everything else is as on the other pages.
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

/** `path` is the prefix of all URLs. */
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
