// `npm run example prices`: drops an inventory and a zip of photos into a watched folder, prices both with a worker,
// uploads a third file over HTTP and prices it without a worker, and compares the results with what the generator
// knows.
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline as pipe } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Rowmill } from 'rowmill';
import { createClient } from 'rowmill/client';
import { startApi } from '../../src/api/start-api.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import {
  allResults,
  type EmbeddedRowmill,
  printProgress,
  withEmbeddedRowmill,
  withWorker,
} from '../with-embedded-rowmill.ts';
import { compareWithTruth } from './compare-with-truth.ts';
import { generateThings, inventoryCsv, type Thing } from './generate-things.ts';
import { photographs, zipPhotos } from './photo-set.ts';
import { prices, RETAILERS } from './pipeline.ts';
import { priceWithoutWorkers } from './price-without-workers.ts';
import { startRetailerService } from './retailer-service.ts';

const INBOX = 'out/prices-inbox';
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export async function run(args: readonly string[]): Promise<void> {
  const isLarge = args.includes('--large');
  const inventory = generateThings({ count: isLarge ? 8000 : 400, seed: 7, prefix: 'inv' });
  const pictured = generateThings({ count: isLarge ? 500 : 40, seed: 7, prefix: 'img' });
  const uploaded = generateThings({ count: isLarge ? 500 : 40, seed: 7, prefix: 'upl' });
  const photos = photographs(pictured.things);
  const service = await startRetailerService([inventory, pictured, uploaded], photos, {
    seed: 7,
    latencyMs: [10, 60],
    ratePerSecond: 200,
    error5xxRate: 0.02,
    hangRate: isLarge ? 0.0005 : 0,
  });
  process.env.RETAILERS_URL = service.url;
  try {
    await withEmbeddedRowmill('prices', async (embedded) => {
      await rm(INBOX, { recursive: true, force: true });
      await mkdir(INBOX, { recursive: true });
      await drop('inventory.csv', inventoryCsv(inventory));
      await drop('photos.zip', zipPhotos(photos));
      const jobs = await scan(embedded);
      const startedMs = performance.now();
      await withWorker(embedded.rowmill, [prices], async () => {
        const truths: [string, readonly Thing[]][] = [
          ['inventory.csv', inventory.things],
          ['photos.zip', pictured.things],
        ];
        for (const [name, things] of truths) {
          const jobId = jobs.get(name);
          if (jobId === undefined) throw new Error(`expected ${name} to become a job`);
          await printProgress(embedded.rowmill, jobId, name);
          await show(embedded.rowmill, jobId, name, things);
        }
      });
      await priceUpload(embedded, inventoryCsv(uploaded), uploaded.things);
      console.log(`\n${((performance.now() - startedMs) / 1000).toFixed(1)} s; answers of the services:`);
      for (const provider of [...RETAILERS, 'market', 'recogniser'])
        console.log(`  ${provider.padEnd(11)}${JSON.stringify(service.answers(provider))}`);
    });
  } finally {
    await service.stop();
  }
}

/** Written under another name first, so that a scan never takes half a file. */
async function drop(name: string, content: string | Buffer): Promise<void> {
  await writeFile(join(INBOX, `${name}.part`), content);
  await rename(join(INBOX, `${name}.part`), join(INBOX, name));
}

/** Runs the command line once, as a timer would. Returns the job of each file by name. */
async function scan({ databaseUrl, dataDir }: EmbeddedRowmill): Promise<Map<string, string>> {
  const source = { name: 'inbox', kind: 'folder', pipeline: 'prices', path: INBOX, stableMs: 100 };
  await writeFile('out/prices.json', JSON.stringify({ sources: [source] }));
  const options = ['--config', 'out/prices.json', '--database-url', databaseUrl, '--data-dir', dataDir];
  const { stdout } = await promisify(execFile)(process.execPath, [
    path('../../dist/cli/main.js'),
    'scan',
    path('./pipeline.ts'),
    ...options,
    '--json',
  ]);
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; path: string; jobId: string });
  const taken = events.filter(({ event }) => event === 'taken');
  for (const each of taken) console.log(`${INBOX}/${each.path} became job ${each.jobId}`);
  return new Map(taken.map((each) => [each.path, each.jobId]));
}

/** Performs the actions of the page: upload, pause, list pending rows, resume, run here, rerun. */
async function priceUpload(
  { rowmill, databaseUrl, dataDir }: EmbeddedRowmill,
  csv: string,
  things: readonly Thing[],
): Promise<void> {
  const settings = loadSettings({
    flags: { authentication: 'none', apiPort: 0, blobStore: join(dataDir, 'blobs') },
  });
  // The server comes from the sources and the pipeline from the package: the same code, but different types for the
  // compiler.
  const pipelines = [prices as never];
  const api = await startApi({ databaseUrl, pipelines, settings, log: createLogger('warn') });
  try {
    const client = createClient({ baseUrl: api.url });
    const { jobId } = await client.upload(
      new Blob([csv]),
      { pipeline: 'prices', again: true },
      { fileName: 'upload.csv' },
    );
    console.log(`\nupload.csv became job ${jobId}; no worker is running`);
    const { pending, slices, again } = await priceWithoutWorkers(client, jobId);
    console.log(`  paused with ${pending} rows pending; resumed, and ran in ${slices} requests`);
    console.log(`  run ${again.generation}: ${again.rows} rows in ${again.slices} requests`);
    await show(rowmill, jobId, 'upload.csv', things);
  } finally {
    await api.stop();
  }
}

async function show(rowmill: Rowmill, jobId: string, name: string, things: readonly Thing[]): Promise<void> {
  const rows = await allResults(rowmill, jobId, prices);
  console.log(`\n${name}: ${rows.length} rows`);
  for (const { status, result, error, input } of rows.slice(0, 8)) {
    const what = String(result?.item ?? input.title ?? input.file).slice(0, 36);
    const how = result
      ? `${result.price} ${result.found} ${result.retailer ?? ''} ${result.reason ?? ''}`
      : error;
    console.log(`  ${status.padEnd(10)}${what.padEnd(38)}${how}`);
  }
  const workbook = `out/${name.replace(/\.\w+$/, '')}-priced.xlsx`;
  await pipe(rowmill.export(jobId, { format: 'xlsx' }), createWriteStream(workbook));
  const wrong = compareWithTruth(rows, things);
  for (const line of wrong.slice(0, 5)) console.log(`  wrong: ${line}`);
  console.log(`  ${workbook}; rows that differ from the generator's truth: ${wrong.length}`);
  if (wrong.length > 0) process.exitCode = 1;
}
