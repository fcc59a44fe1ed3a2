// Runs a command that needs a server: keys, webhooks, accounts, pages.
import type { Client } from '../../client/create-client.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { noteOrigin } from '../error-origin.ts';
import { chooseTarget, type TargetOptions } from './choose-target.ts';
import { clientOf } from './client-of.ts';

/** `what` only servers have, for the error message. */
export async function withServer(
  options: TargetOptions,
  what: string,
  work: (client: Client, url: string) => Promise<number>,
): Promise<number> {
  const target = chooseTarget(options);
  if (target.kind === 'api')
    return noteOrigin(`server ${target.url} (${target.because})`, () => work(clientOf(target), target.url));
  throw new RowmillError(
    'API_UNREACHABLE',
    `only a server has ${what}, and this command would use the database (${target.because})`,
    {
      hint: 'Name a server with --api or ROWMILL_API, or sign in: rowmill login <url>',
    },
  );
}
