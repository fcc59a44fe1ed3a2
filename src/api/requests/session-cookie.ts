// The cookie that holds the session token. With https its `__Host-` name keeps other hosts and plain connections from
// setting it; without https it has a different name, so that the two are never confused.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../platform/settings.ts';

type CookieSettings = Pick<Settings, 'apiPublicUrl' | 'sessionMaxMs'>;

function isHttps({ apiPublicUrl }: CookieSettings): boolean {
  return apiPublicUrl.startsWith('https:');
}

function cookieName(settings: CookieSettings): string {
  return isHttps(settings) ? '__Host-rowmill' : 'rowmill_session';
}

/** Null if there is none, or more than one: it is unclear which one is ours. */
export function readSessionCookie(request: FastifyRequest, settings: CookieSettings): string | null {
  const name = cookieName(settings);
  const values = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 && values[0] !== '' ? values[0]! : null;
}

export function setSessionCookie(reply: FastifyReply, settings: CookieSettings, token: string): void {
  sendCookie(reply, settings, token, Math.floor(settings.sessionMaxMs / 1000));
}

export function clearSessionCookie(reply: FastifyReply, settings: CookieSettings): void {
  sendCookie(reply, settings, '', 0);
}

function sendCookie(reply: FastifyReply, settings: CookieSettings, value: string, seconds: number): void {
  const secure = isHttps(settings) ? '; Secure' : '';
  void reply.header(
    'set-cookie',
    `${cookieName(settings)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`,
  );
}
