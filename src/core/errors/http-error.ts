// The error for an HTTP answer that is not ok. Its class follows from the status, its wait from Retry-After in the headers.

const MAX_BODY_LENGTH = 300;

/** A Response of fetch. */
interface HttpAnswer {
  readonly status: number;
  readonly headers: object;
  readonly url?: string;
}

export type HttpError = Error & Pick<HttpAnswer, 'status' | 'headers'>;

/**
 * To be thrown by a handler: `if (!response.ok) throw httpError(response)`. Give it the text of the body, if you have read
 * it, and the message shows its beginning. Of the URL the message shows only the host: the rest may hold secrets, and
 * would keep equal errors apart.
 */
export function httpError({ status, headers, url = '' }: HttpAnswer, body = ''): HttpError {
  const service = URL.canParse(url) ? new URL(url).host : 'the service';
  const text = body.trim();
  const shown = text.length > MAX_BODY_LENGTH ? `${text.slice(0, MAX_BODY_LENGTH)}…` : text;
  const message = `${service} answered ${status}${shown === '' ? '' : `: ${shown}`}`;
  return Object.assign(new Error(message), { status, headers });
}
