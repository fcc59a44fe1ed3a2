// The error for an HTTP response that is not ok. Its class follows from the status, its wait from Retry-After.

const MAX_BODY_LENGTH = 300;

/** A fetch Response. */
interface HttpAnswer {
  readonly status: number;
  readonly headers: object;
  readonly url?: string;
}

export type HttpError = Error & Pick<HttpAnswer, 'status' | 'headers'>;

/**
 * Creates an error for a handler to throw: `if (!response.ok) throw httpError(response)`. Pass the text of the body,
 * if you have read it, to show its start in the message. The message shows only the host of the URL: the rest may
 * contain secrets and would split equal errors into different groups.
 */
export function httpError({ status, headers, url = '' }: HttpAnswer, body = ''): HttpError {
  const service = URL.canParse(url) ? new URL(url).host : 'the service';
  const text = body.trim();
  const shown = text.length > MAX_BODY_LENGTH ? `${text.slice(0, MAX_BODY_LENGTH)}…` : text;
  const message = `${service} answered ${status}${shown === '' ? '' : `: ${shown}`}`;
  return Object.assign(new Error(message), { status, headers });
}
