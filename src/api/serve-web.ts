// Serves the page. Its assets have a hash in their names and are cached by browsers. The HTML is rendered for each
// request, with the base path and a nonce for the styles that its libraries add.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { withoutTrailing } from '../core/files/without-trailing.ts';
import { newToken } from '../platform/secret-token.ts';
import { contentSecurityPolicy } from './requests/security-headers.ts';

const FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/web/' : '../web/', import.meta.url),
);

/** Returns null if the page has not been built. */
export async function serveWeb(
  app: FastifyInstance,
  path: string,
): Promise<((reply: FastifyReply) => FastifyReply) | null> {
  if (!existsSync(`${FOLDER}index.html`)) return null;
  const page = readFileSync(`${FOLDER}index.html`, 'utf8')
    .replaceAll(/(src|href)="\.\//g, `$1="${path}/`)
    .replace('name="rowmill-path" content=""', `name="rowmill-path" content="${path}"`);
  await app.register(fastifyStatic, {
    root: FOLDER,
    index: false,
    wildcard: false,
    preCompressed: true,
    // Compressed forms are sent for the file itself; a route for each would take 5 ms of every start.
    globIgnore: ['**/*.br', '**/*.gz'],
    immutable: true,
    maxAge: '365d',
  });
  return (reply) => {
    const nonce = newToken();
    return reply
      .code(200)
      .type('text/html; charset=utf-8')
      .header('content-security-policy', contentSecurityPolicy(nonce))
      .header('cache-control', 'no-cache')
      .send(page.replace('name="rowmill-nonce" content=""', `name="rowmill-nonce" content="${nonce}"`));
  };
}

/** Strips the base path, which the proxy in front may or may not have removed already. */
export function withoutPath(url: string, path: string): string {
  return path !== '' && url.startsWith(`${path}/`) ? url.slice(path.length) : url;
}

/** Path of the public URL, without a trailing slash. */
export function publicPath(url: string): string {
  return withoutTrailing(new URL(url).pathname, '/');
}
