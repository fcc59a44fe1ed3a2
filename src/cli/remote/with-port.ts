// The frame of every command that works over a server as well as on the database.
import { createClient } from '../../client/create-client.ts';
import { VERSION } from '../../platform/version.ts';
import { noteOrigin } from '../error-origin.ts';
import { type FrameOptions, withRowmill } from '../with-rowmill.ts';
import { chooseTarget, type Target, type TargetOptions } from './choose-target.ts';
import { clientPort } from './client-port.ts';
import { directPort } from './direct-port.ts';
import type { JobPort } from './job-port.ts';

export async function withPort<Result>(
  options: TargetOptions,
  work: (port: JobPort) => Promise<Result>,
  frame: FrameOptions = {},
): Promise<Result> {
  const target = chooseTarget(options);
  if (target.kind === 'api') {
    const where = `server ${target.url}`;
    return noteOrigin(`${where} (${target.because})`, () => work(clientPort(clientOf(target), where)));
  }
  return noteOrigin(`the database itself (${target.because})`, () =>
    withRowmill(options, (rowmill, server) => work(directPort(rowmill, server.description)), frame),
  );
}

export function clientOf({ url, apiKey }: Pick<Extract<Target, { kind: 'api' }>, 'url' | 'apiKey'>) {
  return createClient({ baseUrl: url, apiKey, headers: { 'user-agent': `rowmill-cli/${VERSION}` } });
}
