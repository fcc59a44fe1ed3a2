// An error in words for whoever sits before the page: what happened and what to do. Hints of some codes are meant for
// the command line.
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';

export interface ErrorWords {
  text: string;
  hint: string;
}

export function errorWords(error: unknown): ErrorWords {
  if (!(error instanceof RowmillApiError))
    return { text: error instanceof Error ? error.message : String(error), hint: '' };
  if (error.code === 'API_UNREACHABLE')
    return {
      text: 'The server could not be reached.',
      hint: 'Check your connection and that the server is running, then try again.',
    };
  return { text: error.message, hint: error.hint };
}
