// An error as a message and a hint for a user of the page. Hints that name terminal commands are replaced.
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';

export interface ErrorWords {
  text: string;
  hint: string;
}

const SHOWN_ISSUES = 5;

export function errorWords(error: unknown): ErrorWords {
  if (!(error instanceof RowmillApiError))
    return { text: error instanceof Error ? error.message : String(error), hint: '' };
  if (error.code === 'API_UNREACHABLE')
    return {
      text: "Can't reach the server.",
      hint: 'Check your connection and that the server is running, then try again.',
    };
  if (error.code === 'UNAUTHENTICATED')
    return { text: 'Your session expired.', hint: 'Sign in again and retry.' };
  if (error.issues.length > 0)
    return { text: error.issues.slice(0, SHOWN_ISSUES).map(issueText).join('; '), hint: '' };
  return { text: error.message, hint: error.hint };
}

/** The part of the request is dropped: the field has its name on the screen. */
function issueText({ path, message }: RowmillApiError['issues'][number]): string {
  const field = path.replace(/^(params|query|body)\.?/, '');
  return field === '' ? message : `${field}: ${message}`;
}
