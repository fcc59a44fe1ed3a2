// Polls all sources, each independently on its own interval: an unreachable source does not delay the others. A scan
// that takes longer than its interval is not started twice.
import type { EngineContext } from '../../engine/engine-context.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { type ScanReport, scanSource, type TakeFile } from './scan-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { SourceConfig } from './source-config.ts';

export interface WatchedSource {
  config: SourceConfig;
  adapter: SourceAdapter;
  takeFile: TakeFile;
}

export interface SourceWatch {
  /** Scans immediately, then on the interval. */
  start(): void;
  /** Releases the files in progress; the next watcher resumes them. */
  stop(): Promise<void>;
  /** Scans every source once; the report is null for sources that failed. */
  runOnce(): Promise<Map<string, ScanReport | null>>;
}

export function watchSources(context: EngineContext, sources: WatchedSource[]): SourceWatch {
  const stopping = new AbortController();
  const watched = sources.map((source) => {
    let underWay: Promise<ScanReport | null> | null = null;
    const scan = (): Promise<ScanReport | null> => {
      underWay ??= scanSource(context, source.adapter, source.config, source.takeFile, stopping.signal)
        // scanSource has already emitted the error as an event.
        .catch(() => null)
        .finally(() => {
          underWay = null;
        });
      return underWay;
    };
    const service = new PeriodicService({
      name: `source ${source.config.name}`,
      intervalMs: source.config.pollMs ?? context.settings.sourcePollMs,
      events: context.events,
      work: scan,
    });
    return { name: source.config.name, scan, service, underWay: () => underWay };
  });
  return {
    start() {
      for (const { scan, service } of watched) {
        void scan();
        service.start();
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(watched.map(({ service }) => service.stop()));
      for (const { underWay } of watched) await underWay();
    },
    async runOnce() {
      const reports = await Promise.all(
        watched.map(async ({ name, scan }): Promise<[string, ScanReport | null]> => [name, await scan()]),
      );
      return new Map(reports);
    },
  };
}
