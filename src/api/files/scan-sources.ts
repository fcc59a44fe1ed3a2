// POST /api/ingestion/scan: scans the configured sources once, on request.
import type { operationRoutes } from '../../contract/operations.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { recordAudit } from '../../engine/record-audit.ts';
import { openSource } from '../../ingest/sources/open-source.ts';
import type { ScanReport } from '../../ingest/sources/scan-source.ts';
import type { SourceConfig } from '../../ingest/sources/source-config.ts';
import { createTakeFile } from '../../ingest/sources/take-file.ts';
import { watchSources } from '../../ingest/sources/watch-sources.ts';
import { waitMs } from '../../platform/clock.ts';
import { Events } from '../../platform/events.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import type { Handler } from '../requests/handler.ts';

interface Found {
  jobs: { jobId: string; path: string }[];
  failed: { path: string; error: string }[];
}

export const scanSources: Handler<typeof operationRoutes.scanSources> = async (
  { query, engine, signal },
  { pipelines, sources, notifier },
) => {
  const configs = chooseSources(sources, query.sources);
  const events = new Events();
  const context: EngineContext = { ...engine, events };
  const watched = configs.map((config) => {
    const pipeline = pipelines.find(({ name }) => name === config.pipeline);
    if (!pipeline)
      throw new RowmillError(
        'PIPELINE_NOT_FOUND',
        `the source ${config.name} names the pipeline ${config.pipeline}, which this server does not have`,
      );
    const adapter = openSource(config, engine.settings);
    return { config, adapter, takeFile: createTakeFile(context, pipeline, config) };
  });
  const detail = { sources: configs.map(({ name }) => name) };
  await retryPassing(() =>
    recordAudit(engine.db, engine, { action: 'sources.scan', subject: 'sources', detail }),
  );
  const found = new Map<string, Found>(configs.map(({ name }) => [name, { jobs: [], failed: [] }]));
  collect(events, found);
  const watch = watchSources(context, watched);
  const stop = (): void => void watch.stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const first = await watch.runOnce();
    // A file that was just written needs a second scan.
    const isWaiting = [...first.values()].some((report) => report !== null && report.waiting > 0);
    const stableMs = Math.max(
      0,
      ...configs.map((config) => config.stableMs ?? engine.settings.sourceStableMs),
    );
    if (isWaiting) await waitMs(stableMs, signal);
    const second =
      isWaiting && !signal.aborted ? await watch.runOnce() : new Map<string, ScanReport | null>();
    return {
      items: configs.map(({ name }) => {
        const { jobs, failed } = found.get(name)!;
        const report = second.get(name) ?? first.get(name) ?? null;
        const waiting = report?.waiting ?? 0;
        return { source: name, found: jobs.length + failed.length + waiting, jobs, waiting, failed };
      }),
    };
  } finally {
    signal.removeEventListener('abort', stop);
    await watch.stop();
    await notifier.hint();
  }
};

function chooseSources(
  configs: readonly SourceConfig[],
  names: readonly string[] | undefined,
): readonly SourceConfig[] {
  const unknown = names?.find((name) => !configs.some((config) => config.name === name));
  if (unknown !== undefined) throw new RowmillError('SOURCE_NOT_FOUND', `there is no source ${unknown}`);
  return names === undefined ? configs : configs.filter(({ name }) => names.includes(name));
}

/** A source that cannot be scanned is a failure without a path. */
function collect(events: Events, found: Map<string, Found>): void {
  events.on('source.file_taken', ({ source, jobId, path }) => found.get(source)?.jobs.push({ jobId, path }));
  events.on('source.file_failed', ({ source, path, reason }) =>
    found.get(source)?.failed.push({ path, error: reason }),
  );
  events.on('source.scan_failed', ({ source, path, error }) =>
    found.get(source)?.failed.push({
      path: path ?? '',
      error: error instanceof Error ? error.message : String(error),
    }),
  );
}
