// The prices example end to end: the command line turns files in a folder, on an FTP server and in a bucket into jobs,
// a real worker runs them against the stand-in retailers, and every row is compared with the fate of its thing.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readXlsx } from 'hucre/xlsx';
import { openRowmill, type Rowmill, type RowmillWorker } from 'rowmill';
import { createClient } from 'rowmill/client';
import { runPipeline } from 'rowmill/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { compareWithTruth, type PricedRow } from '../../examples/prices/compare-with-truth.ts';
import { generateThings, inventoryCsv, type Things } from '../../examples/prices/generate-things.ts';
import { type Photo, photographs, zipPhotos } from '../../examples/prices/photo-set.ts';
import { prices, RETAILERS } from '../../examples/prices/pipeline.ts';
import { priceWithoutWorkers } from '../../examples/prices/price-without-workers.ts';
import { startRetailerService } from '../../examples/prices/retailer-service.ts';
import type { StandIn, StandInOptions } from '../../examples/stand-in-server.ts';
import { runScan } from '../../src/cli/commands/scan.ts';
import { send } from '../support/api-pipelines.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startFtpServer } from '../support/ftp-server.ts';
import { startS3Stub } from '../support/s3-stub.ts';
import { sha256Of } from '../support/take-whole-file.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-prices-'));
const pipelinePath = fileURLToPath(new URL('../../examples/prices/pipeline.ts', import.meta.url));
const calm: StandInOptions = { seed: 5, latencyMs: [0, 10] };
const cleanups: (() => Promise<unknown>)[] = [];
let rowmill: Rowmill;
let worker: RowmillWorker;

beforeAll(async () => {
  // An adaptive limit would adapt to the load of this machine.
  const still = { concurrency: 10, adaptive: false };
  const settings = {
    blobStore: join(folder, 'blobs'),
    pollMaxMs: 100,
    resourceSyncMs: 50,
    resources: { retailer: still, recogniser: still },
  };
  rowmill = await openRowmill({ databaseUrl: database.url, settings });
  worker = await rowmill.startWorker([prices]);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});
afterAll(async () => {
  await worker.stop();
  await rowmill.close();
  delete process.env.RETAILERS_URL;
  rmSync(folder, { recursive: true, force: true });
});

async function start(lists: Things[], photos: Photo[], options: StandInOptions): Promise<StandIn> {
  const service = await startRetailerService(lists, photos, options);
  cleanups.push(() => service.stop());
  process.env.RETAILERS_URL = service.url;
  return service;
}

async function rowsOf(jobId: string): Promise<PricedRow[]> {
  await rowmill.whenFinished(jobId);
  const rows: PricedRow[] = [];
  for await (const row of rowmill.results(jobId)) rows.push(row);
  return rows;
}

function runCsv(text: string, params: object = {}): Promise<{ jobId: string }> {
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  return rowmill.submitFile(prices, { name: 'inventory.csv', bytes }, { params: { ...params } });
}

/** Scans all sources once, as the command line does. Returns the job of the one file of each. */
async function scan(sources: object[]): Promise<Map<string, string>> {
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const config = join(folder, 'rowmill.json');
  writeFileSync(config, JSON.stringify({ sources }));
  const options = {
    config,
    databaseUrl: database.url,
    set: { blobStore: join(folder, 'blobs') },
    json: true,
  };
  expect(await runScan([pipelinePath], options)).toBe(0);
  vi.restoreAllMocks();
  const events = lines.map((line) => JSON.parse(line) as { event: string; source: string; jobId: string });
  return new Map(events.filter(({ event }) => event === 'taken').map(({ source, jobId }) => [source, jobId]));
}

describe('the prices example', () => {
  it('prices rows and photos from a folder, an FTP server and a bucket', async () => {
    const [inFolder, onFtp, inBucket] = (['fol', 'ftp', 'buc'] as const).map((prefix) =>
      generateThings({ count: 40, seed: 21, prefix }),
    ) as [Things, Things, Things];
    const photos = photographs(onFtp.things);
    await start([inFolder, onFtp, inBucket], photos, { ...calm, ratePerSecond: 300, error5xxRate: 0.05 });

    const path = join(folder, 'inbox');
    mkdirSync(path);
    writeFileSync(join(path, 'inventory.csv'), inventoryCsv(inFolder));
    const ftp = await startFtpServer();
    cleanups.push(() => ftp.stop());
    writeFileSync(join(ftp.root, 'photos.zip'), zipPhotos(photos));
    const s3 = await startS3Stub();
    cleanups.push(() => s3.stop());
    const body = Buffer.from(inventoryCsv(inBucket));
    const etag = `"${sha256Of(body).slice(0, 32)}"`;
    s3.objects.set('in/inventory.csv', { body, etag, modifiedAt: new Date(), metadata: {} });
    vi.stubEnv('PRICES_FTP_PASSWORD', ftp.password);
    vi.stubEnv('PRICES_S3_KEY', 'rowmill');
    vi.stubEnv('PRICES_S3_SECRET', 'secret');
    cleanups.push(async () => vi.unstubAllEnvs());

    const jobs = await scan([
      { name: 'folder', kind: 'folder', pipeline: 'prices', path, stableMs: 50 },
      {
        name: 'ftp',
        kind: 'ftp',
        pipeline: 'prices',
        host: '127.0.0.1',
        port: ftp.port,
        path: '/',
        user: ftp.user,
        passwordEnv: 'PRICES_FTP_PASSWORD',
        secure: 'none',
        allowPlain: true,
        stableMs: 50,
      },
      {
        name: 'bucket',
        kind: 's3',
        pipeline: 'prices',
        bucket: s3.bucket,
        prefix: 'in/',
        endpoint: s3.endpoint,
        accessKeyIdEnv: 'PRICES_S3_KEY',
        secretAccessKeyEnv: 'PRICES_S3_SECRET',
      },
    ]);
    expect([...jobs.keys()].sort()).toEqual(['bucket', 'folder', 'ftp']);
    expect(compareWithTruth(await rowsOf(jobs.get('folder')!), inFolder.things)).toEqual([]);
    expect(compareWithTruth(await rowsOf(jobs.get('ftp')!), onFtp.things)).toEqual([]);
    expect(compareWithTruth(await rowsOf(jobs.get('bucket')!), inBucket.things)).toEqual([]);
    const fates = new Set(inFolder.things.map(({ fate }) => fate));
    expect(fates.size).toBe(5);
  });

  it('asks each retailer once in turn, and stops at the first matching offer', async () => {
    const list = generateThings({ count: 40, seed: 22, prefix: 'turn' });
    const service = await start([list], [], calm);
    const { jobId } = await runCsv(inventoryCsv(list));
    expect(compareWithTruth(await rowsOf(jobId), list.things)).toEqual([]);
    for (const { title, brand, fate, retailer } of list.things) {
      const at = RETAILERS.indexOf(retailer ?? '');
      const asks = { exact: at + 1, similar: 3 + at + 1, estimate: 7, unknown: 7, unreadable: 0 }[fate];
      const calls = [
        ...RETAILERS.map((each) => service.answers(each, `${brand}: ${title}`)),
        ...RETAILERS.map((each) => service.answers(each, title)),
        service.answers('market', title),
      ].map((answers) => Object.values(answers).reduce((sum, times) => sum + times, 0));
      expect(calls, `${title}, ${fate}`).toEqual(Array.from({ length: 7 }, (_, n) => (n < asks ? 1 : 0)));
    }
  });

  it('gives the reason for an estimate, and respects a wider tolerance', async () => {
    const list = generateThings({ count: 40, seed: 23, prefix: 'band' });
    await start([list], [], calm);
    const narrow = await rowsOf((await runCsv(inventoryCsv(list))).jobId);
    const estimated = narrow.filter(({ result }) => (result as { found?: string })?.found === 'estimate');
    expect(estimated).toHaveLength(list.things.filter(({ fate }) => fate === 'estimate').length);
    expect(estimated.length).toBeGreaterThan(0);
    for (const { seq, result } of estimated) {
      const paid = list.things[seq]!.paid.toFixed(2);
      expect((result as { reason: string }).reason).toBe(
        `no offer within ±10 % of ${paid} at atlas, borealis, corner; median of 3 others`,
      );
    }
    // The first retailer asks half of the price that was paid, which is within 55 %.
    const wide = await rowsOf((await runCsv(inventoryCsv(list), { tolerance: 0.55 })).jobId);
    for (const { seq } of estimated)
      expect(wide[seq]?.result).toMatchObject({ found: 'similar', retailer: 'atlas', sold: 'Noname' });
  });

  it('never takes a failure for a price: an unreachable retailer is an error', async () => {
    const rows = [{ title: 'kettle', brand: 'LUMA', quantity: '1', purchase_price: '50.00' }];
    const run = await runPipeline(prices, rows, {
      params: { tolerance: 0.1 },
      faults: [{ phase: 'find', kind: 'status', status: 503 }],
    });
    expect(run.results[0]).toMatchObject({ status: 'ERROR', errorClass: 'overloaded', attempts: 20 });
  });

  it('shows the same in the grid and in the workbook', async () => {
    const list = generateThings({ count: 30, seed: 24, prefix: 'grid' });
    await start([list], [], calm);
    const { jobId } = await runCsv(inventoryCsv(list));
    await rowmill.whenFinished(jobId);
    const { url } = await startTestApi(database.url);
    const { body } = await send(url, 'GET', `/api/jobs/${jobId}/items?pageSize=100`);
    const items = body.items as { status: string; input: Row; result: Row | null }[];
    const chunks: Buffer[] = [];
    for await (const chunk of rowmill.export(jobId, { format: 'xlsx' })) chunks.push(chunk);
    const [sheet] = (await readXlsx(Buffer.concat(chunks))).sheets;
    const [header, ...cells] = sheet!.rows as unknown[][];
    expect(header!.slice(0, 4)).toEqual(['Title', 'Brand', 'Quantity', 'Purchase Price']);
    const column = (name: string): unknown[] => cells.map((row) => row[header!.indexOf(name)] ?? null);
    expect(cells).toHaveLength(list.things.length);
    expect(column('Title')).toEqual(items.map(({ input }) => input.title));
    expect(column('status')).toEqual(items.map(({ status }) => status));
    for (const name of ['item', 'found', 'price', 'value', 'retailer', 'sold', 'url', 'reason'])
      expect(column(name), name).toEqual(items.map(({ result }) => result?.[name] ?? null));
  });

  it('runs a browser upload without workers: paused, listed as pending, run in slices, and rerun', async () => {
    const list = generateThings({ count: 30, seed: 25, prefix: 'page' });
    const service = await start([list], [], calm);
    await worker.stop();
    const { url } = await startTestApi(database.url, {
      pipelines: [prices as never],
      settings: { blobStore: join(folder, 'blobs'), resourceSyncMs: 50 },
    });
    const { page, complaints } = await browser.open();
    await page.goto(`${url}/jobs/new?pipeline=prices`);
    const file = { name: 'inventory.csv', mimeType: 'text/csv', buffer: Buffer.from(inventoryCsv(list)) };
    await page.getByLabel('File to upload').setInputFiles(file);
    await page.getByRole('button', { name: 'Start job' }).click();
    await page.getByRole('heading', { name: 'inventory.csv' }).waitFor();
    const jobId = /jobs\/([0-9a-f-]{36})/.exec(page.url())![1]!;
    expect(service.answers('market')).toEqual({});

    const client = createClient({ baseUrl: url });
    const { pending, slices, again } = await priceWithoutWorkers(client, jobId);
    const withFate = (fate: string): number => list.things.filter((thing) => thing.fate === fate).length;
    // The upload refuses a price that is not a number, so that row cannot be rerun.
    expect(pending).toBe(list.things.length - withFate('unreadable'));
    expect(slices).toBeGreaterThan(0);
    expect(withFate('unknown')).toBeGreaterThan(0);
    expect(again).toMatchObject({ generation: 2, rows: withFate('unknown') });
    expect(compareWithTruth(await rowsOf(jobId), list.things)).toEqual([]);
    // The page shows the final counts.
    await page
      .getByText(`Done ${list.things.length - withFate('unreadable') - withFate('unknown')}`)
      .first()
      .waitFor();
    expectNoComplaints(complaints);
    worker = await rowmill.startWorker([prices]);
  });
});

type Row = Record<string, unknown>;
