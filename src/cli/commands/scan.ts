// rowmill sources scan and rowmill sources watch: create jobs from the files of the configured sources, once or until stopped.
// Workers run the jobs.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { openSource } from '../../ingest/sources/open-source.ts';
import type { ScanReport, TakeFile } from '../../ingest/sources/scan-source.ts';
import type { SourceConfig } from '../../ingest/sources/source-config.ts';
import { createTakeFile as takeFileOf } from '../../ingest/sources/take-file.ts';
import { type SourceWatch, watchSources } from '../../ingest/sources/watch-sources.ts';
import { waitMs } from '../../platform/clock.ts';
import type { Events } from '../../platform/events.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { contextOf } from '../../open-rowmill.ts';
import { commandSources } from '../command-sources.ts';
import { choosePipelines } from '../load-pipeline.ts';
import { commandSettings, type ServerOptions } from '../open-server.ts';
import { formatCount, printable } from '../progress-lines.ts';
import { listenForStop } from '../stop-signals.ts';
import { withRowmill } from '../with-rowmill.ts';

export interface ScanOptions extends ServerOptions {
  json?: boolean;
}

/** Returns the function that creates a job of this pipeline from a file of this source. */
export type CreateTakeFile = (context: EngineContext, pipeline: Pipeline, config: SourceConfig) => TakeFile;

interface OpenedSources {
  watch: SourceWatch;
  configs: SourceConfig[];
  /** The longest time that a file of these sources must remain unchanged before it is taken. */
  stableMs: number;
  signal: AbortSignal;
}

/** Exits with 1 if a source could not be scanned. */
export async function runScan(
  references: string[],
  options: ScanOptions,
  createTakeFile: CreateTakeFile = takeFileOf,
): Promise<number> {
  return withSources(references, options, createTakeFile, async ({ watch, stableMs, signal }) => {
    const reports = await watch.runOnce();
    // A file that was just written needs a second scan.
    if ([...reports.values()].some((report) => report && report.waiting > 0) && !signal.aborted) {
      await waitMs(stableMs, signal);
      for (const [name, second] of await watch.runOnce())
        reports.set(name, addReports(reports.get(name), second));
    }
    const sources = [...reports].map(([name, report]) => ({ name, ok: report !== null, ...report }));
    if (options.json) console.log(JSON.stringify({ event: 'finished', sources }));
    else for (const each of sources) console.log(describeReport(each.name, reports.get(each.name) ?? null));
    return sources.every((each) => each.ok) ? 0 : 1;
  });
}

export async function watchSourcesUntilStopped(
  references: string[],
  options: ScanOptions,
  createTakeFile: CreateTakeFile = takeFileOf,
): Promise<number> {
  return withSources(references, options, createTakeFile, async ({ watch, configs, signal }) => {
    console.error(`Watching ${configs.map((config) => config.name).join(', ')}`);
    watch.start();
    if (!signal.aborted) {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    }
    return 0;
  });
}

async function withSources(
  references: string[],
  options: ScanOptions,
  createTakeFile: CreateTakeFile,
  work: (opened: OpenedSources) => Promise<number>,
): Promise<number> {
  const say = (line: string): void => console.error(line);
  const settings = await commandSettings(options);
  const configs = await commandSources(options);
  if (configs.length === 0)
    throw new RowmillError('SOURCE_INVALID', 'expected sources, got none', {
      hint: 'List them in rowmill.config.ts, or in the file of --config or ROWMILL_CONFIG. See docs/sources.md.',
    });
  const { pipelines } = await choosePipelines(references);
  const chosen = configs.map((config) => ({ config, pipeline: pipelineOf(config, pipelines) }));
  return withRowmill(
    options,
    async (rowmill) => {
      const context = contextOf(rowmill);
      const stop = listenForStop(() => {}, say);
      printEvents(context.events, options.json === true);
      const watch = watchSources(
        context,
        chosen.map(({ config, pipeline }) => ({
          config,
          adapter: openSource(config, settings),
          takeFile: createTakeFile(context, pipeline, config),
        })),
      );
      stop.signal.addEventListener('abort', () => void watch.stop(), { once: true });
      try {
        const stableMs = Math.max(...configs.map((config) => config.stableMs ?? settings.sourceStableMs));
        return await work({ watch, configs, stableMs, signal: stop.signal });
      } finally {
        await watch.stop();
        stop.dispose();
      }
    },
    { say, create: true },
  );
}

function pipelineOf(config: SourceConfig, pipelines: Pipeline[]): Pipeline {
  const found = pipelines.find((pipeline) => pipeline.name === config.pipeline);
  if (found) return found;
  throw new RowmillError(
    'PIPELINE_NOT_FOUND',
    `the source ${config.name} names the pipeline ${config.pipeline}; the modules have ${pipelines.map((each) => each.name).join(', ')}`,
  );
}

/** Prints one line per file. File names are untrusted. */
function printEvents(events: Events, json: boolean): void {
  const print = (event: string, detail: { source: string; path?: string }, text: string): void => {
    if (json) {
      const values = Object.entries(detail).map(([key, value]) => [
        key,
        key === 'error' ? messageOf(value) : value,
      ]);
      console.log(JSON.stringify({ event, ...Object.fromEntries(values) }));
    } else console.log(`${detail.source}: ${printable(detail.path ?? '')} ${text}`.replace(/ {2,}/g, ' '));
  };
  events.on('source.file_taken', (detail) => print('taken', detail, `became job ${detail.jobId}`));
  events.on('source.file_failed', (detail) => print('failed', detail, `failed: ${printable(detail.reason)}`));
  events.on('source.file_skipped', (detail) =>
    print('skipped', detail, `skipped: ${printable(detail.reason)}`),
  );
  events.on('source.file_released', (detail) =>
    print('released', detail, `will be retried: ${printable(messageOf(detail.error))}`),
  );
  events.on('source.scan_failed', (detail) =>
    print('error', detail, `error: ${printable(messageOf(detail.error))}`),
  );
}

function describeReport(name: string, report: ScanReport | null): string {
  if (!report) return `${name}: could not be scanned`;
  const counts = Object.entries(report).map(([what, count]) => `${what} ${formatCount(count)}`);
  return `${name}: ${counts.join(', ')}`;
}

/** Files that waited in the first scan are counted by the second. */
function addReports(first: ScanReport | null | undefined, second: ScanReport | null): ScanReport | null {
  if (!first || !second) return null;
  return {
    found: second.found + first.taken + first.failed,
    taken: first.taken + second.taken,
    waiting: second.waiting,
    failed: first.failed + second.failed,
    skipped: second.skipped,
    errors: first.errors + second.errors,
  };
}

function messageOf(error: unknown): string {
  if (error instanceof RowmillError) return `${error.message} [${error.code}]`;
  return error instanceof Error ? error.message : String(error);
}
