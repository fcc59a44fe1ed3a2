// `npm run example crawler`: serves a generated site, crawls it, and prints the findings for a site owner and the cost
// for the database.
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
 * Emitted rows may wait for others: a longer delay means fewer transactions, but the next pages are known later. New
 * work only comes from flushes, so polls and claims between them find nothing. A pause or a changed limit takes effect
 * a little later.
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
  // Ctrl-C stops the server too, which would otherwise outlive this process.
  process.once('SIGINT', () => stop.abort());
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-crawler-'));
  const site = generateSite({ pages, seed: 7 });
  const running = await startSite(site);
  const server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') });
  // A page may be found on a long path before a shorter one is known.
  const settings = {
    blobStore: join(folder, 'blobs'),
    emitMaxDepth: 100,
    ...(args.includes('--large') ? FEW_TRANSACTIONS : { flushMaxDelayMs: 500 }),
  };
  const rowmill = await openRowmill({ databaseUrl: server.url, settings });
  const worker = await rowmill.startWorker([crawler]);
  try {
    console.log(
      `a site of ${pages} pages on ${running.hosts.length} hosts; the last host limits its callers`,
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
        ? `\nall ${check.expected} reachable pages were crawled once, and no other page`
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

/** Prints progress until the frontier is empty. Returns the maximum fullness of the buffer of unwritten outcomes. */
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
    console.log(`${state.padEnd(10)} ${itemCount - open} pages done, ${open} known and not yet done`);
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
  console.log(`${count(({ warm }) => warm === false)} pages not in the cache at the second request`);
  some(
    ({ warm }) => warm === false,
    ({ url }) => url,
  );
  console.log(`${count(({ status }) => status === 'SKIPPED')} redirects and duplicate URLs`);
  some(
    ({ status }) => status === 'SKIPPED',
    ({ url, reason }) => `${url} ${reason}`,
  );
  console.log('\nhost     requests   refused with 429         max. in flight');
  for (const { name, calls, refused, mostAtOnce } of running.stats().hosts)
    console.log(
      `${name.padEnd(8)} ${String(calls).padStart(8)} ${String(refused).padStart(18)} ${String(mostAtOnce).padStart(22)}`,
    );
}

/** Prints the effect of batched writes, each number with its target. */
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
    ['all transactions, with claims and limits', String(committed + rolledBack), ''],
    ['    saved, against one per page', percent(1 - (committed + rolledBack) / total), 'at least 95 %'],
    ['    and against one per request', percent(1 - (committed + rolledBack) / outcomes), ''],
    ['rolled back', percent(rolledBack / (committed + rolledBack)), 'under 1 %'],
    ['maximum fullness of the outcome buffer', percent(fullest), 'under 80 %'],
    ['flush duration, p50 / p95 / p99', `${quantiles.join(' / ')} ms`, 'seconds, including the wait'],
    ['job completion accuracy', percent(accuracy), '100 %'],
  ];
  console.log(`\n${''.padEnd(44)}${'measured'.padStart(22)}    target`);
  for (const [name, value, target] of rows)
    console.log(`${name.padEnd(44)}${value.padStart(22)}    ${target}`);
}
