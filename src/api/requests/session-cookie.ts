// The cookie that holds the token of a session. With https its name keeps other hosts and plain connections from setting
// it; without, it has another name, so that the two are never taken for each other.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Settings } from '../../platform/settings.ts';

type CookieSettings = Pick<Settings, 'apiPublicUrl' | 'sessionMaxMs'>;

function isHttps({ apiPublicUrl }: CookieSettings): boolean {
  return apiPublicUrl.startsWith('https:');
}

function cookieName(settings: CookieSettings): string {
  return isHttps(settings) ? '__Host-rowmill' : 'rowmill_session';
}

/** Null when there is none, or more than one: which of them is ours cannot be told. */
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
