// `npm run example crawler`: serves a generated site, crawls it, and prints what a site owner wants to know and what it
// cost the database.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRowmill, type Rowmill, type RowmillWorker, startEmbeddedPostgres } from 'rowmill';
import { type CrawledPage, checkCrawl, readCrawl } from './check-crawl.ts';
import { generateSite } from './generate-site.ts';
import { crawler } from './pipeline.ts';
import { type RunningSite, startSite } from './start-site.ts';

/**
 * Found pages may wait for others: the longer, the fewer transactions, and the later the next pages are known. Work comes
 * from flushes, so looks and claims between them find nothing; a pause or a changed limit is heard of a little later.
 */
const FEW_TRANSACTIONS = {
  flushMaxDelayMs: 5000,
  claimConcurrency: 1,
  pollMinMs: 2000,
  controlLookMs: 2000,
  resourceSyncMs: 500,
};

export async function run(args: readonly string[]): Promise<void> {
  const pages = args.includes('--large') ? 20_000 : 1500;
  const stop = new AbortController();
  // Ctrl-C ends the server too, which would outlive this process.
  process.once('SIGINT', () => stop.abort());
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-crawler-'));
  const site = generateSite({ pages, seed: 7 });
  const running = await startSite(site);
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') });
  // A way to a page may be long before a shorter one is found.
  const settings = {
    blobStore: join(folder, 'blobs'),
    emitMaxDepth: 100,
    ...(args.includes('--large') ? FEW_TRANSACTIONS : { flushMaxDelayMs: 500 }),
  };
  const rowmill = await openRowmill({ databaseUrl: server.url, settings });
  const worker = await rowmill.startWorker([crawler]);
  try {
    console.log(
      `a site of ${pages} pages over ${running.hosts.length} hosts; the last one limits its callers`,
    );
    const startedMs = performance.now();
    const { jobId } = await rowmill.submitFile(
      crawler,
      { name: 'start.txt', bytes: lines([running.startUrl]) },
      { params: { hosts: running.hosts } },
    );
    const fullest = await follow(rowmill, worker, jobId, stop.signal);
    const seconds = (performance.now() - startedMs) / 1000;
    const check = checkCrawl(site, running, await readCrawl(rowmill, jobId));
    printFindings(check.pages, running);
    await printNumbers(rowmill, worker, jobId, { seconds, fullest, accuracy: check.accuracy });
    for (const problem of check.problems.slice(0, 10)) console.error(problem);
    console.log(
      check.problems.length === 0
        ? `\nall ${check.expected} pages that can be reached were crawled once, and no other`
        : `\n${check.problems.length} differences from what the generator knows`,
    );
    if (check.problems.length > 0) process.exitCode = 1;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await worker.stop();
    await rowmill.close();
    await server.stop();
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function* lines(texts: string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(`${texts.join('\n')}\n`);
}

/** Until the frontier is empty. How full the buffer of unwritten outcomes was, at the most. */
async function follow(
  rowmill: Rowmill,
  worker: RowmillWorker,
  jobId: string,
  signal: AbortSignal,
): Promise<number> {
  let fullest = 0;
  for (;;) {
    const { state } = await rowmill.job(jobId);
    const { itemCount, counts } = await rowmill.progress(jobId);
    fullest = Math.max(fullest, (await worker.metrics.snapshot()).buffer_fullness ?? 0);
    const open = counts.PENDING + counts.PROCESSING;
    console.log(`${state.padEnd(10)} ${itemCount - open} pages done, ${open} known and not done`);
    if (await rowmill.summary(jobId)) return fullest;
    await sleep(1000, undefined, { signal });
  }
}

function printFindings(pages: CrawledPage[], running: RunningSite): void {
  const count = (test: (page: CrawledPage) => boolean): number => pages.filter(test).length;
  const some = (test: (page: CrawledPage) => boolean, line: (page: CrawledPage) => string): void => {
    for (const page of pages.filter(test).slice(0, 3)) console.log(`    ${line(page)}`);
  };
  const isBroken = ({ status }: CrawledPage): boolean => status === 'NOT_FOUND' || status === 'ERROR';
  console.log(`\n${count(isBroken)} broken links`);
  some(isBroken, ({ url, from, reason }) => `${url} on ${from}: ${reason}`);
  console.log(`${count(({ slow }) => slow === true)} slow pages`);
  some(
    ({ slow }) => slow === true,
    ({ url, ms }) => `${url}: ${ms} ms`,
  );
  console.log(
    `${count(({ warm }) => warm === false)} pages that were not in the cache at the second request`,
  );
  some(
    ({ warm }) => warm === false,
    ({ url }) => url,
  );
  console.log(`${count(({ status }) => status === 'SKIPPED')} redirects and second addresses of a page`);
  some(
    ({ status }) => status === 'SKIPPED',
    ({ url, reason }) => `${url} ${reason}`,
  );
  console.log('\nhost     requests   refused with 429   at once, at the most');
  for (const { name, calls, refused, mostAtOnce } of running.stats().hosts)
    console.log(
      `${name.padEnd(8)} ${String(calls).padStart(8)} ${String(refused).padStart(18)} ${String(mostAtOnce).padStart(22)}`,
    );
}

/** What batched writing is for: each number with what it was meant to be. */
async function printNumbers(
  rowmill: Rowmill,
  worker: RowmillWorker,
  jobId: string,
  { seconds, fullest, accuracy }: { seconds: number; fullest: number; accuracy: number },
): Promise<void> {
  const { total, phases } = (await rowmill.summary(jobId))!;
  const sum = (of: (phase: (typeof phases)[number]) => number): number =>
    phases.reduce((all, phase) => all + of(phase), 0);
  const flushes = sum((phase) => phase.flushes);
  const outcomes = sum(
    (phase) => phase.advanced + phase.retried + phase.done + phase.error + phase.notFound + phase.skipped,
  );
  const metrics = await worker.metrics.snapshot();
  const of = (name: string): number => metrics[name] ?? 0;
  const committed = of('database_transactions{end=commit}');
  const rolledBack = of('database_transactions{end=rollback}');
  const percent = (part: number): string => `${(part * 100).toFixed(2)} %`;
  const quantiles = [0.5, 0.95, 0.99].map((q) => Math.round(of(`flush_ms{quantile=${q}}`)));
  const rows: [string, string, string][] = [
    ['pages per second', (total / seconds).toFixed(0), ''],
    ['outcomes per flush, on average', (outcomes / flushes).toFixed(1), '40 to 60'],
    ['flushes per minute', ((flushes / seconds) * 60).toFixed(0), ''],
    ['flushes saved, against one per page', percent(1 - flushes / total), 'at least 95 %'],
    ['    and against one per request', percent(1 - flushes / outcomes), ''],
    ['all transactions, claims and limits too', String(committed + rolledBack), ''],
    ['    saved, against one per page', percent(1 - (committed + rolledBack) / total), 'at least 95 %'],
    ['    and against one per request', percent(1 - (committed + rolledBack) / outcomes), ''],
    ['rolled back', percent(rolledBack / (committed + rolledBack)), 'under 1 %'],
    ['buffer of outcomes, at its fullest', percent(fullest), 'under 80 %'],
    ['a flush takes, p50 / p95 / p99', `${quantiles.join(' / ')} ms`, 'seconds, with the wait for it'],
    ['job completion accuracy', percent(accuracy), '100 %'],
  ];
  console.log(`\n${''.padEnd(44)}${'measured'.padStart(22)}    meant to be`);
  for (const [name, value, target] of rows)
    console.log(`${name.padEnd(44)}${value.padStart(22)}    ${target}`);
}
