// rowmill dev [pipelines...]: the API and a worker, without accounts and for this machine only. It reloads the project
// when a module changes.
import type { RunningApi } from '../../api/start-api.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { contextOf, openRowmill } from '../../open-rowmill.ts';
import { LoadedModules } from '../../pipeline/loaded-modules.ts';
import { logForPeople } from '../../platform/logger.ts';
import type { Settings } from '../../platform/settings.ts';
import { loadProject } from '../dev/load-project.ts';
import { ReloadLoop } from '../dev/reload-loop.ts';
import { WorkerRelay } from '../dev/worker-relay.ts';
import { commandSettings, openServer, sayDatabaseWait } from '../open-server.ts';
import { eventLines } from '../event-lines.ts';
import { startBrowser } from '../start-browser.ts';
import { listenForStop } from '../stop-signals.ts';
import { isInUse, listen, type ServerCommandOptions, withAddress } from './server.ts';

export interface DevOptions extends ServerCommandOptions {
  /** Commander's --open. */
  open?: boolean;
}

const PORTS_TO_TRY = 10;

export async function runDev(references: string[], options: DevOptions): Promise<number> {
  const { set: chosen } = withAddress(options);
  const given = { ...options, set: { authentication: 'none', apiHost: '127.0.0.1', ...chosen } };
  if (process.stderr.isTTY) logForPeople();
  const say = eventLines(options.json);
  const loaded = new LoadedModules();
  const settings = await commandSettings(given);
  const project = await loadProject(references);
  const { pipelines, samples } = project;
  let api: RunningApi | undefined;
  const reloads = new ReloadLoop({
    references,
    loaded,
    project,
    use: async (next) => {
      await workers.replace(next.modules);
      Object.assign(api!.context, { pipelines: next.pipelines, samples: next.samples });
    },
    onState: (reload) => Object.assign(api!.context, { reload }),
    say,
  });
  const server = await openServer(given, say);
  const rowmill = await openRowmill({ databaseUrl: server.url, settings, onDatabaseWait: sayDatabaseWait });
  const workers = new WorkerRelay({
    context: contextOf(rowmill),
    ...(options.logLevel === undefined ? {} : { logLevel: options.logLevel }),
    onCrash: (how) => say(`A worker process exited with ${how} and was replaced`),
  });
  const stop = listenForStop(() => workers.kill(), say);
  try {
    // A port that the user chose is never replaced by another.
    const tries = chosen?.apiPort === undefined ? PORTS_TO_TRY : 1;
    // Before the worker, so that a port in use starts no worker.
    api = await listenNear(tries, settings, say, (at) => listen(server.url, pipelines, at, given, samples));
    say(`Web page and API on ${api.url}`, 'listening', { url: api.url });
    if (options.open && process.stderr.isTTY) startBrowser(`${api.url}/jobs/new`);
    await workers.replace(project.modules);
    const names = pipelines.map(({ name }) => name);
    say(`1 worker process for ${names.join(', ')} on ${server.description}`, 'started', {
      ...{ processes: 1, pipelines: names },
    });
    await reloads.run(stop.signal);
    await api.stop();
    api = undefined;
    if (await workers.stop()) return 0;
    say('Some results could not be stored: their rows will run again');
    return 1;
  } finally {
    workers.kill();
    await api?.stop();
    stop.dispose();
    await rowmill.close();
    await server.stop();
  }
}

/** Uses the next free port if another server has the default one, and prints that. */
async function listenNear<Api>(
  tries: number,
  settings: Settings,
  say: (line: string) => void,
  listenAt: (settings: Settings) => Promise<Api>,
): Promise<Api> {
  for (let next = 1; ; next += 1) {
    try {
      return await listenAt(settings);
    } catch (error) {
      const isTaken = error instanceof RowmillError && isInUse(error.cause);
      if (!isTaken || next >= tries) throw error;
      const { apiPort } = settings;
      say(`Port ${apiPort} is taken: trying ${apiPort + 1} (set one with --port)`);
      settings = { ...settings, apiPort: apiPort + 1 };
    }
  }
}
