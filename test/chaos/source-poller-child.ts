// A poller of one folder as a separate process, for tests that kill it. The only argument is a JSON text. The poller
// scans until all files are taken, and reports each file as a JSON line.
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { FolderSource } from '../../src/ingest/sources/folder-source.ts';
import { scanSource } from '../../src/ingest/sources/scan-source.ts';
import { Database } from '../../src/platform/database.ts';
import { Events } from '../../src/platform/events.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { takeWholeFile } from '../support/take-whole-file.ts';

export interface PollerOptions {
  databaseUrl: string;
  source: string;
  path: string;
  leaseMs: number;
}

const { databaseUrl, source, path, leaseMs } = JSON.parse(process.argv[2]!) as PollerOptions;
const db = new Database({
  url: databaseUrl,
  maxConnections: 2,
  applicationName: 'poller',
  deadlineMs: 60_000,
});
const settings = loadSettings({ flags: { ingestLeaseMs: leaseMs }, environment: {} });
const context = { db, events: new Events(), settings } as EngineContext;
context.events.on('source.file_taken', ({ path: file, jobId }) =>
  console.log(JSON.stringify({ event: 'taken', file, jobId })),
);
const config = { name: source, kind: 'folder' as const, pipeline: 'watched', path };
const adapter = new FolderSource(config, 0);
const left = () =>
  [...readdirSync(path), ...readdirSync(`${path}/.processing`)].filter((name) => !name.startsWith('.'))
    .length;
do {
  await scanSource(context, adapter, config, takeWholeFile(context), new AbortController().signal);
  if (left() > 0) await sleep(50);
} while (left() > 0);
console.log(JSON.stringify({ event: 'finished' }));
await db.close();
