// rowmill server [pipelines...]: serves the web page and the HTTP API until stopped. It runs handlers only in slices.
import { type RunningApi, startApi } from '../../api/start-api.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { createLogger, logForPeople } from '../../platform/logger.ts';
import { TEXT_SETTINGS } from '../../platform/setting-table.ts';
import type { Settings } from '../../platform/settings.ts';
import { migrate } from '../../store/migrate.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { commandSources } from '../command-sources.ts';
import { choosePipelines } from '../load-pipeline.ts';
import { commandSettings, openServer, type ServerOptions, whenServerAnswers } from '../open-server.ts';
import { loadProjectConfig } from '../project-config.ts';
import { startBrowser } from '../start-browser.ts';
import { listenForStop } from '../stop-signals.ts';
import { runWorkers } from './worker.ts';

export interface ServerCommandOptions extends ServerOptions {
  logLevel?: string;
  port?: string;
  host?: string;
}

export interface DevOptions extends ServerCommandOptions {
  /** Commander's --open. */
  open?: boolean;
}

/** Time that open requests get to finish at shutdown. */
const GRACE_MS = 10_000;
const PORTS_TO_TRY = 10;

export async function runServer(references: string[], given: ServerCommandOptions): Promise<number> {
  const say = (line: string): void => console.error(line);
  const options = withAddress(given);
  const settings = await commandSettings(options);
  const { pipelines } = await choosePipelines(references);
  const server = await openServer(options, say);
  const stop = listenForStop(() => {}, say);
  try {
    await whenServerAnswers(() => migrate(server.url), settings, stop.signal);
    const api = await listen(server.url, pipelines, settings, options);
    say(`Web page and API on ${api.url} for ${namesOf(pipelines)}, with ${server.description}`);
    if (!stop.signal.aborted)
      await new Promise<void>((resolve) =>
        stop.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
    await api.stop();
    return 0;
  } finally {
    stop.dispose();
    await server.stop();
  }
}

/** rowmill dev: the API and a worker, without accounts and for this machine only. */
export async function runDev(references: string[], options: DevOptions): Promise<number> {
  const { set: chosen } = withAddress(options);
  const given = { ...options, set: { authentication: 'none', apiHost: '127.0.0.1', ...chosen } };
  if (process.stderr.isTTY) logForPeople();
  return runWorkers(references, given, async (databaseUrl, pipelines, say) => {
    const settings = await commandSettings(given);
    // A port that the user chose is never replaced by another.
    const tries = chosen?.apiPort === undefined ? PORTS_TO_TRY : 1;
    const samples = (await loadProjectConfig())?.samples ?? [];
    const api = await listenNear(tries, settings, say, (at) =>
      listen(databaseUrl, pipelines, at, given, samples),
    );
    say(`Web page and API on ${api.url}`);
    if (options.open && process.stderr.isTTY) startBrowser(`${api.url}/jobs/new`);
    return api;
  });
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

/** --port and --host are short for the settings apiPort and apiHost. */
function withAddress(options: ServerCommandOptions): ServerCommandOptions {
  const { port, host } = options;
  return {
    ...options,
    set: {
      ...options.set,
      ...(port !== undefined && { apiPort: port }),
      ...(host !== undefined && { apiHost: host }),
    },
  };
}

async function listen(
  databaseUrl: string,
  pipelines: Pipeline[],
  given: Settings,
  options: ServerCommandOptions,
  samples: readonly string[] = [],
): Promise<RunningApi> {
  const settings = withPublicPort(given);
  const sources = await commandSources(options);
  const log = createLogger(options.logLevel);
  try {
    return await startApi({ databaseUrl, pipelines, settings, sources, samples, log, graceMs: GRACE_MS });
  } catch (error) {
    if (!isInUse(error)) throw error;
    throw new RowmillError(
      'API_ADDRESS_REFUSED',
      `cannot listen on ${settings.apiHost}, port ${settings.apiPort}: ${(error as Error).message}`,
      { hint: 'Stop the program that uses this port, or set another one with --port.', cause: error },
    );
  }
}

/** The public URL follows the port, unless it was set itself. */
function withPublicPort(settings: Settings): Settings {
  const { apiPublicUrl, apiPort } = settings;
  if (apiPublicUrl !== TEXT_SETTINGS.apiPublicUrl.default || apiPort === 0) return settings;
  const url = new URL(apiPublicUrl);
  url.port = String(apiPort);
  return { ...settings, apiPublicUrl: url.origin };
}

function isInUse(error: unknown): boolean {
  return ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes((error as { code?: string } | null)?.code ?? '');
}

function namesOf(pipelines: Pipeline[]): string {
  return pipelines.map((pipeline) => pipeline.name).join(', ');
}
