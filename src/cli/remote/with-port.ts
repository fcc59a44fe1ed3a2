// Runs a command over a server or on the database, and loads only the modules of the one it uses.
import { noteOrigin } from '../error-origin.ts';
import type { FrameOptions } from '../with-rowmill.ts';
import { chooseTarget, type TargetOptions } from './choose-target.ts';
import type { JobPort } from './job-port.ts';

export async function withPort<Result>(
  options: TargetOptions,
  work: (port: JobPort) => Promise<Result>,
  frame: FrameOptions = {},
): Promise<Result> {
  const target = chooseTarget(options);
  if (target.kind === 'api') {
    const where = `server ${target.url}`;
    const [{ clientOf }, { clientPort }] = await Promise.all([
      import('./client-of.ts'),
      import('./client-port.ts'),
    ]);
    return noteOrigin(`${where} (${target.because})`, () => work(clientPort(clientOf(target), where)));
  }
  const [{ withRowmill }, { directPort }, { databaseName }] = await Promise.all([
    import('../with-rowmill.ts'),
    import('./direct-port.ts'),
    import('../open-server.ts'),
  ]);
  return noteOrigin(`${databaseName(options)} (${target.because})`, () =>
    withRowmill(options, (rowmill, server) => work(directPort(rowmill, server.description)), frame),
  );
}
