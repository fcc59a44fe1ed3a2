// A real server on a free local port, with the database of the test file.
import { type RunningApi, startApi } from '../../src/api/start-api.ts';
import type { SourceConfig } from '../../src/ingest/sources/source-config.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { loadSettings, type Settings } from '../../src/platform/settings.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { silentLogger } from './silent-logger.ts';
import { stopAfterTest } from './stop-after-test.ts';

/** Without accounts by default. Stopped after the test. */
export async function startTestApi(
  databaseUrl: string,
  options: {
    pipelines?: Pipeline[];
    settings?: Partial<Settings>;
    sources?: readonly SourceConfig[];
    samples?: readonly string[];
    log?: Logger;
    graceMs?: number;
  } = {},
): Promise<RunningApi> {
  const flags = {
    authentication: 'none',
    apiPort: 0,
    apiRequestsPerSecond: 10_000,
    apiRequestBurst: 100_000,
  };
  const settings = loadSettings({ flags: { ...flags, ...options.settings } });
  const api = await startApi({
    databaseUrl,
    pipelines: options.pipelines ?? [],
    settings,
    ...(options.sources && { sources: options.sources }),
    ...(options.samples && { samples: options.samples }),
    log: options.log ?? silentLogger,
    ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
  });
  stopAfterTest(() => api.stop());
  return api;
}
