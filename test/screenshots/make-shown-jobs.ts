// Jobs of two people in all states: run twice, running, out of budget, waiting, test run, cancelled, images and a
// crawl.
import type pg from 'pg';
import { productRows } from '../../examples/price-lookup/generate-products.ts';
import type { Client } from '../../src/client/index.ts';
import type { Rowmill } from '../../src/index.ts';
import { shiftTimes, type TimeShift } from './shift-times.ts';
import { shownImages } from './shown-images.ts';

export interface ShownJobs {
  running: string;
  /** Run twice. */
  done: string;
  images: string;
  crawl: string;
  /** Its budget is used up. */
  budget: string;
  /** No worker can run it. */
  queued: string;
  /** A finished test run: the first rows were run, the others wait. */
  trial: string;
  /** Its file could not be read. */
  refused: string;
}

export interface Makers {
  ada: Client;
  ben: Client;
  rowmill: Rowmill;
  db: pg.Client;
}

/** After this many rows the running job slows down, so that it is still running in the last screenshot. */
const ROWS_BEFORE_SLOW = 500;

export async function makeShownJobs({ ada, ben, rowmill, db }: Makers): Promise<ShownJobs> {
  const ended = async (jobId: string, shift: TimeShift): Promise<void> => {
    await rowmill.whenFinished(jobId);
    await shiftTimes(db, jobId, shift);
  };

  const cancelled = await upload(ben, 'returns-october.csv', csvOf(400, 4), {
    pipeline: 'price-lookup',
    hold: true,
  });
  await until(async () => (await ben.getJob({ jobId: cancelled })).sealed);
  await ben.cancelJob({ jobId: cancelled });
  await ended(cancelled, { agoMinutes: 2900, stretch: 1 });

  const crawl = await upload(ben, 'shops.txt', SHOPS, { pipeline: 'crawl-shop', format: { format: 'urls' } });
  await ended(crawl, { agoMinutes: 1500, stretch: 30 });
  const images = await upload(ada, 'summer-photos.zip', new Uint8Array(shownImages(24)), {
    pipeline: 'name-colours',
  });
  await ended(images, { agoMinutes: 310, stretch: 30 });

  const done = await upload(ada, 'spring-catalogue.csv', csvOf(900, 3) + BROKEN_LINES, {
    pipeline: 'price-lookup',
    budget: { max: 25 },
    params: { country: 'fr' },
  });
  await ended(done, { agoMinutes: 150, stretch: 60 });
  await ada.reprocessJob({ jobId: done, scope: 'job', statuses: ['ERROR'], includePermanent: true });
  await rowmill.whenFinished(done);

  const budget = await upload(ada, 'new-arrivals.csv', csvOf(600, 5), {
    pipeline: 'describe-products',
    budget: { max: 2 },
  });
  await until(async () => (await ada.getJob({ jobId: budget })).state === 'PAUSED');
  await shiftTimes(db, budget, { agoMinutes: 42, stretch: 20 });

  const running = await upload(ada, 'autumn-catalogue.csv', csvOf(4000, 7), {
    pipeline: 'price-lookup',
    budget: { max: 10 },
  });
  await until(async () => (await ada.getJob({ jobId: running })).counts.DONE > ROWS_BEFORE_SLOW);
  await ada.changeResource({ name: 'price-api', ratePerSecond: 8 });
  await shiftTimes(db, running, { agoMinutes: 0, stretch: 30 });

  const trial = await upload(ada, 'winter-catalogue.csv', csvOf(700, 6), {
    pipeline: 'describe-products',
    budget: { max: 10 },
    trial: 50,
  });
  await until(async () => {
    const { counts, held, sealed } = await ada.getJob({ jobId: trial });
    return sealed && counts.PENDING === held && counts.PROCESSING === 0;
  });
  await shiftTimes(db, trial, { agoMinutes: 12, stretch: 8 });
  const queued = await upload(ada, 'titles-to-translate.csv', csvOf(300, 8), {
    pipeline: 'translate-titles',
    budget: { max: 1 },
  });
  await until(async () => (await ada.getJob({ jobId: queued })).sealed);
  await shiftTimes(db, queued, { agoMinutes: 6, stretch: 1 });

  // Longer than the part that the server checks before it accepts the file.
  const cutOff = `[${'{"sku": "1", "title": "desk lamp"}, '.repeat(2000)}{"sku": `;
  const refused = await upload(ada, 'suppliers.json', cutOff, {
    pipeline: 'describe-products',
    format: { format: 'json' },
  });
  await until(async () => (await ada.getJob({ jobId: refused })).state === 'FAILED');
  await shiftTimes(db, refused, { agoMinutes: 95, stretch: 1 });
  return { running, done, images, crawl, budget, queued, trial, refused };
}

async function upload(
  client: Client,
  name: string,
  bytes: string | Uint8Array<ArrayBuffer>,
  job: Parameters<Client['upload']>[1],
): Promise<string> {
  console.error(`making ${name}`);
  const { jobId } = await client.upload(new File([bytes], name), { name, ...job });
  return jobId;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 200));
}

function csvOf(rows: number, seed: number): string {
  const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  // Some browsers lack fonts for some scripts.
  const plain = (text: string): string => text.replace(/ ?[\u3000-\u9fff]+/g, '');
  const lines = [...productRows({ rows, seed })].map((row) =>
    Object.values(row)
      .map((value) => quote(plain(value)))
      .join(','),
  );
  return ['sku,title,brand,quantity,purchase_price', ...lines].join('\r\n');
}

/** One row with a column too many, one with a column too few. */
const BROKEN_LINES = [
  '',
  '"951-0000951","desk lamp, brass","Nordlicht","4","19.90","discontinued"',
  '"952-0000952","folding chair"',
  '"953-0000953","shelf, 80 cm","Acme, Inc.","2","44.00","see page 12","new"',
].join('\r\n');

const SHOPS = [
  'https://lamps.example/shop',
  'https://chairs.example/shop',
  'https://desks.example/shop',
].join('\n');
