// rowmill server [pipelines...]: serves the web page and the HTTP API until stopped. It runs handlers only in slices.
import { type RunningApi, startApi } from '../../api/start-api.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { createLogger } from '../../platform/logger.ts';
import { TEXT_SETTINGS } from '../../platform/setting-table.ts';
import type { Settings } from '../../platform/settings.ts';
import { migrate } from '../../store/migrate.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { commandSources } from '../command-sources.ts';
import { eventLines } from '../event-lines.ts';
import { choosePipelines } from '../load-pipeline.ts';
import { commandSettings, openServer, type ServerOptions, whenServerAnswers } from '../open-server.ts';
import { listenForStop } from '../stop-signals.ts';

export interface ServerCommandOptions extends ServerOptions {
  logLevel?: string;
  port?: string;
  host?: string;
  json?: boolean;
}

/** Time that open requests get to finish at shutdown. */
const GRACE_MS = 10_000;

export async function runServer(references: string[], given: ServerCommandOptions): Promise<number> {
  const say = eventLines(given.json);
  const options = withAddress(given);
  const settings = await commandSettings(options);
  const { pipelines } = await choosePipelines(references);
  const server = await openServer(options, say);
  const stop = listenForStop(() => {}, say);
  try {
    await whenServerAnswers(() => migrate(server.url), settings, stop.signal);
    const api = await listen(server.url, pipelines, settings, options);
    const names = pipelines.map((pipeline) => pipeline.name);
    say(`Web page and API on ${api.url} for ${names.join(', ')}, with ${server.description}`, 'listening', {
      ...{ url: api.url, pipelines: names },
    });
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

/** --port and --host are short for the settings apiPort and apiHost. */
export function withAddress(options: ServerCommandOptions): ServerCommandOptions {
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

export async function listen(
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

export function isInUse(error: unknown): boolean {
  return ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes((error as { code?: string } | null)?.code ?? '');
}
