// Hands out the page. Its files have their hash in the name and are kept by browsers; the page itself is written for each
// request, with the path it is reached by and a nonce for the styles that its libraries add.
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { newSecret } from '../platform/random.ts';
import { contentSecurityPolicy } from './security-headers.ts';

const FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/web/' : '../web/', import.meta.url),
);

/** Answers with the page; null when it was not built. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

export async function serveWeb(app: FastifyInstance, path: string): Promise<SendPage | null> {
  if (!existsSync(`${FOLDER}index.html`)) return null;
  const page = readFileSync(`${FOLDER}index.html`, 'utf8')
    .replaceAll(/(src|href)="\.\//g, `$1="${path}/`)
    .replace('name="rowmill-path" content=""', `name="rowmill-path" content="${path}"`);
  await app.register(fastifyStatic, {
    root: FOLDER,
    prefix: `${path}/`,
    index: false,
    wildcard: false,
    immutable: true,
    maxAge: '365d',
  });
  return (_request, reply) => {
    const nonce = newSecret(16);
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', contentSecurityPolicy(nonce))
      .header('cache-control', 'no-cache')
      .send(page.replace('name="rowmill-nonce" content=""', `name="rowmill-nonce" content="${nonce}"`));
  };
}
