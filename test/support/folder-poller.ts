// A poller of one folder for tests: scans on request, and keeps its events.
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { FolderSource } from '../../src/ingest/sources/folder-source.ts';
import { type ScanReport, scanSource, type TakeFile } from '../../src/ingest/sources/scan-source.ts';
import type { SourceAdapter } from '../../src/ingest/sources/source-adapter.ts';
import type { FolderSourceConfig } from '../../src/ingest/sources/source-config.ts';
import type { EventName } from '../../src/platform/events.ts';
import { type TakeHooks, takeWholeFile } from './take-whole-file.ts';

export interface FolderPoller {
  context: EngineContext;
  adapter: SourceAdapter;
  config: FolderSourceConfig;
  events: { name: string; [field: string]: unknown }[];
  scan(takeFile?: TakeFile | TakeHooks, signal?: AbortSignal): Promise<ScanReport>;
}

const EVENTS = [
  'source.file_taken',
  'source.file_failed',
  'source.file_skipped',
  'source.file_released',
  'source.scan_failed',
] as const satisfies EventName[];

/** Files are taken at the first scan. */
export function openFolderPoller(context: EngineContext, source: string, path: string): FolderPoller {
  const config: FolderSourceConfig = { name: source, kind: 'folder', pipeline: 'watched', path };
  const adapter = new FolderSource(config, 0);
  const events: FolderPoller['events'] = [];
  for (const name of EVENTS) context.events.on(name, (detail) => void events.push({ name, ...detail }));
  return {
    context,
    adapter,
    config,
    events,
    scan: (take = {}, signal = new AbortController().signal) =>
      scanSource(
        context,
        adapter,
        config,
        typeof take === 'function' ? take : takeWholeFile(context, take),
        signal,
      ),
  };
}
