// The crawler example, end to end at a small scale: its findings equal what the generator of the site knows.
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'csv-parse/sync';
import { openRowmill, type Rowmill } from 'rowmill';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkCrawl, readCrawl } from '../../examples/crawler/check-crawl.ts';
import { generateSite, HOSTS, LIMITED_HOST, reachablePages } from '../../examples/crawler/generate-site.ts';
import { crawler, normalizeUrl } from '../../examples/crawler/pipeline.ts';
import { type RunningSite, startSite } from '../../examples/crawler/start-site.ts';
import { waitMs } from '../../src/platform/clock.ts';
import { isDeep } from '../support/depth.ts';
import { checkInvariants } from '../support/invariants.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const PAGES = 600;
const site = generateSite({ pages: PAGES, seed: 3 });
const reachable = reachablePages(site);

const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

async function serve(): Promise<RunningSite> {
  const running = await startSite(site, { latencyMs: [0, 3], limitPerSecond: 200 });
  cleanups.push(() => running.stop());
  return running;
}

describe('a crawl by two workers', () => {
  let running: RunningSite;
  let rowmill: Rowmill;
  let jobId: string;
  let summary: Awaited<ReturnType<Rowmill['whenFinished']>>;
  let metrics: Record<string, number>;

  beforeAll(async () => {
    running = await serve();
    // A long lease keeps permits while this process waits for its turn on a busy machine.
    const settings = { emitMaxDepth: 100, flushMaxDelayMs: 50, resourceLeaseMs: 100_000 };
    rowmill = await openRowmill({ databaseUrl: database.url, settings });
    cleanups.push(() => rowmill.close());
    const bytes = (async function* () {
      yield Buffer.from(`${running.startUrl}\n`);
    })();
    const params = { hosts: running.hosts };
    ({ jobId } = await rowmill.submitFile(crawler, { name: 'start.txt', bytes }, { params }));
    const workers = [await rowmill.startWorker([crawler]), await rowmill.startWorker([crawler])];
    summary = await rowmill.whenFinished(jobId, AbortSignal.timeout(55_000));
    // Workers of one process share their metrics.
    metrics = await workers[0]!.metrics.snapshot();
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test('finds every reachable page once, and no other', async () => {
    database.keepIfFailed();
    const { problems, accuracy, pages } = checkCrawl(site, running, await readCrawl(rowmill, jobId));
    expect(problems).toEqual([]);
    expect(accuracy).toBe(1);
    expect(summary).toMatchObject({ state: 'DONE', total: reachable.size });
    for (const page of pages.filter(({ status }) => status === 'NOT_FOUND'))
      expect(page.reason).toBe(`broken link on ${page.from}`);
  });

  test('finishes when nothing is left, and its ledger matches the results', async () => {
    const progress = await rowmill.progress(jobId);
    expect(progress.counts).toMatchObject({ PENDING: 0, PROCESSING: 0 });
    expect(progress.flushes).toBe(summary.phases.reduce((sum, phase) => sum + phase.flushes, 0));
    const booked = summary.phases.map((phase) => {
      const { advanced, retried, done, error, notFound, skipped } = phase;
      return advanced + retried + done + error + notFound + skipped;
    });
    expect(metrics.items_flushed_total).toBe(booked.reduce((sum, each) => sum + each));
    expect(progress.flushes).toBeLessThan(metrics.items_flushed_total!);
    const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
      rows: await database.query(text, values),
    });
    expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
  });

  test('stays within the concurrency of every host, and requests each page as often as needed', () => {
    const { hosts, calls } = running.stats();
    for (const { name, mostAtOnce } of hosts) expect([name, mostAtOnce <= 6]).toEqual([name, true]);
    expect(hosts[LIMITED_HOST]!.refused, 'no call was refused, so this test proves nothing').toBeGreaterThan(
      0,
    );
    // Refused requests were retried, and ended like all others.
    const needed = { page: 2, slow: 2, uncached: 2, flaky: 3, down: 3, redirect: 1, alias: 1, missing: 1 };
    const wrong = [...reachable.keys()].filter((id) => calls.get(id) !== needed[site.pages[id]!.kind]);
    expect(wrong).toEqual([]);
    expect([...calls.keys()].filter((id) => !reachable.has(id))).toEqual([]);
  });
});

// A round of a crawl, from one flush to the next, costs about ten transactions, and a site has at least as many rounds
// as levels. A crawl of a few hundred pages ends before that averages to one per twenty pages. The periodic work of
// the worker has long intervals, because it depends on the load of the machine and not on the pages.
test.runIf(isDeep)(
  'a whole crawl takes 95 % fewer transactions than one per page, claims and limits included',
  async () => {
    const large = generateSite({ pages: 8000, seed: 7 });
    const running = await startSite(large, { latencyMs: [20, 60], limitPerSecond: 10_000 });
    cleanups.push(() => running.stop());
    const settings = {
      emitMaxDepth: 100,
      // As in the batching design.
      flushMaxDelayMs: 5000,
      // Work comes from flushes, so concurrent claims and polls between flushes would find nothing.
      claimConcurrency: 1,
      pollMinMs: 5000,
      pollMaxMs: 5000,
      controlLookMs: 5000,
      sweepMs: 30_000,
      resourceSyncMs: 5000,
      resourceLeaseMs: 100_000,
      // More concurrency than slots, so that items that wait for a host are not returned and fetched again.
      resources: { host: { concurrency: 12, minDelayMs: 0, adaptive: false } },
    };
    const rowmill = await openRowmill({ databaseUrl: database.url, settings });
    cleanups.push(() => rowmill.close());
    const bytes = (async function* () {
      yield Buffer.from(`${running.startUrl}\n`);
    })();
    const params = { hosts: running.hosts };
    const worker = await rowmill.startWorker([crawler]);
    const { jobId } = await rowmill.submitFile(crawler, { name: 'start.txt', bytes }, { params });
    const { total } = await rowmill.whenFinished(jobId, AbortSignal.timeout(290_000));
    const spent = await worker.metrics.snapshot();
    await worker.stop();
    expect(checkCrawl(large, running, await readCrawl(rowmill, jobId)).problems).toEqual([]);
    const ends = ['commit', 'rollback'].map((end) => spent[`database_transactions{end=${end}}`]!);
    expect((ends[0]! + ends[1]!) / total, `${ends.join(' + ')} transactions for ${total} pages`).toBeLessThan(
      0.05,
    );
  },
  300_000,
);

/** Far more than a worker claims before they start. */
const FAR_PAGES = 3000;
const CLAIMED = 1500;

function openable(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A server whose answers the caller supplies. */
async function serveHtml(
  answer: (path: string) => Promise<{ html: string } | { location: string }>,
): Promise<string> {
  const server = createServer((request, response) => {
    void answer(request.url!).then((given) => {
      if ('location' in given) response.writeHead(302, { location: given.location }).end();
      else response.writeHead(200, { 'content-type': 'text/html' }).end(given.html);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('fetches a page near the start before farther pages that were found earlier', async () => {
  // One claim at a time: a second one would not wait for the spans that the first takes from.
  const settings = { flushMaxDelayMs: 50, claimMax: 10, claimConcurrency: 1 };
  const rowmill = await openRowmill({ databaseUrl: database.url, settings });
  cleanups.push(() => rowmill.close());
  // Pages must wait for slots only: items that wait for a host go back to the end of the queue.
  await rowmill.setResource('host', { concurrency: 1000, minDelayMs: 0, adaptive: false });
  const farAreStored = openable();
  const nearIsStored = openable();
  const nearIsFetched = openable();
  let farFetched = 0;
  const page = (links: string[]): { html: string } => ({
    html: links.map((link) => `<a href="${link}">x</a>`).join(''),
  });
  const seen = new Set<string>();
  const main = await serveHtml(async (path) => {
    if (path === '/') return page(['/hub', `http://${other}/moved`]);
    if (path === '/hub') return page(Array.from({ length: FAR_PAGES }, (_, n) => `/far/${n}`));
    // The second request of a page checks its cache.
    if (path === '/near') nearIsFetched.open();
    else if (!seen.has(path)) farFetched += 1;
    seen.add(path);
    await nearIsStored.opened;
    return page([]);
  });
  const other = await serveHtml(async () => {
    await farAreStored.opened;
    return { location: `http://${main}/near` };
  });
  const bytes = (async function* () {
    yield Buffer.from(`http://${main}/\n`);
  })();
  const params = { hosts: [main, other] };
  const { jobId } = await rowmill.submitFile(crawler, { name: 'start.txt', bytes }, { params });
  const worker = await rowmill.startWorker([crawler]);
  cleanups.push(() => worker.stop());
  const itemsAre = async (count: number): Promise<void> => {
    while ((await rowmill.progress(jobId)).itemCount < count) await waitMs(50);
  };
  await itemsAre(3 + FAR_PAGES);
  farAreStored.open();
  await itemsAre(4 + FAR_PAGES);
  nearIsStored.open();
  await nearIsFetched.opened;
  const before = farFetched;
  await rowmill.cancel(jobId);
  await rowmill.setResource('host', { concurrency: null, minDelayMs: null, adaptive: null });
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThanOrEqual(CLAIMED);
});

test('crawls a site from the command line', async () => {
  const small = generateSite({ pages: 60, seed: 5 });
  const running = await startSite(small, { latencyMs: [0, 3], limitPerSecond: 200 });
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-crawl-'));
  cleanups.push(
    () => running.stop(),
    () => rm(folder, { recursive: true, force: true }),
  );
  await writeFile(join(folder, 'start.txt'), `${running.startUrl}\n`);
  const pipeline = fileURLToPath(new URL('../../examples/crawler/pipeline.ts', import.meta.url));
  const params = JSON.stringify({ hosts: running.hosts });
  const where = { folder, databaseUrl: database.url };
  const args = ['run', pipeline, 'start.txt', '--params', params, '--set', 'emitMaxDepth=100'];
  const { code, stderr } = await runCommand(where, [...args, '--out', 'pages.csv']);
  // The site has broken links.
  expect(code, stderr).toBe(3);
  const rows = parse(await readFile(join(folder, 'pages.csv')), { columns: true }) as Record<
    string,
    string
  >[];
  const expected = [...reachablePages(small).values()].map(({ id, status }) => [running.urlOf(id), status]);
  expect(rows.map(({ url, rowmill_status }) => [url, rowmill_status]).sort()).toEqual(expected.sort());

  const wrong = await runCommand(where, ['run', pipeline, 'start.txt', '--params', '[]']);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('expected a JSON object')]);
});

describe('the site', () => {
  test('has every problem for crawlers, and unreachable pages', () => {
    const kinds = new Set([...reachable.keys()].map((id) => site.pages[id]!.kind));
    expect([...kinds].sort()).toEqual(
      ['alias', 'down', 'flaky', 'missing', 'page', 'redirect', 'slow', 'uncached'].sort(),
    );
    expect(new Set([...reachable.keys()].map((id) => site.pages[id]!.host)).size).toBe(HOSTS.length);
    expect(reachable.size).toBeLessThan(PAGES);
    expect(reachable.size).toBeGreaterThan(PAGES * 0.9);
    const [first, second] = site.pages.filter(({ kind, id }) => kind === 'redirect' && id % 40 !== 0);
    expect([first!.links, second!.links]).toEqual([[second!.id], [first!.id]]);
  });

  test('is the same for a seed', () => {
    expect(generateSite({ pages: PAGES, seed: 3 })).toEqual(site);
    expect(generateSite({ pages: PAGES, seed: 4 })).not.toEqual(site);
  });

  test('refuses the first caller of the limited host with Retry-After', async () => {
    const running = await serve();
    const { id } = site.pages.find(({ host, kind }) => host === LIMITED_HOST && kind === 'page')!;
    const response = await fetch(running.urlOf(id));
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1']);
  });
});

describe('a URL', () => {
  test('has one normalized form, however it was written', () => {
    const base = 'http://127.0.0.1:4000/lamps/5';
    for (const link of [
      '/lamps/7',
      '7',
      './../lamps/7',
      '/lamps//7/',
      '/lamps/7#reviews',
      '/lamps/7?utm_source=mail&utm_campaign=2',
      'http://127.0.0.1:4000/lamps/7/index.html',
      'HTTP://127.0.0.1:4000/lamps/x/../7',
    ])
      expect([link, normalizeUrl(link, base)]).toEqual([link, 'http://127.0.0.1:4000/lamps/7']);
    expect(normalizeUrl('/lamps?sort=price&gclid=1&page=2', base)).toBe(
      'http://127.0.0.1:4000/lamps?page=2&sort=price',
    );
    for (const link of ['mailto:a@example.org', 'javascript:void(0)', 'http://'])
      expect([link, normalizeUrl(link, base)]).toEqual([link, null]);
  });

  test('is unique for every page', async () => {
    const running = await serve();
    const urls = site.pages.map(({ id }) => running.urlOf(id));
    expect(urls.map((url) => normalizeUrl(url))).toEqual(urls);
    expect(new Set(urls).size).toBe(PAGES);
  });
});
