// Child process of files.ts: runs one task, so that its peak memory can be measured; plain JavaScript, because
// stripping types would add to it. Prints one JSON line.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline as streamPipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { definePipeline, openRowmill } from '../dist/index.js';

const pipeline = definePipeline({ name: 'bench-files', phases: [{ name: 'only', run: () => null }] });
const BATCH = 10_000;
const CHUNK_BYTES = 64 * 1024;
const COLUMNS = ['sku', 'title', 'brand', 'price', 'quantity', 'ean', 'category', 'note'];

const task = JSON.parse(process.argv[2]);

function cells(n) {
  return [
    `SKU-${String(n).padStart(8, '0')}`,
    `Product ${n}, size ${n % 50}`,
    `Brand ${n % 997}`,
    `${n % 1000}.${String(n % 100).padStart(2, '0')}`,
    String(n % 13),
    String(4_000_000_000_000 + n),
    `category/${n % 40}/${n % 7}`,
    n % 10 === 0 ? `says "note ${n}"` : '',
  ];
}

function csvLine(row) {
  return `${row.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
}

function* csvChunks() {
  let chunk = `${COLUMNS.join(',')}\n`;
  for (let n = 0; n < task.rows; n += 1) {
    chunk += csvLine(cells(n));
    if (chunk.length < CHUNK_BYTES) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

/** COPY lines of one batch, as Rowmill sends them. */
function itemLines(jobId, first, end) {
  const chunks = [];
  let chunk = '';
  for (let n = first; n < end; n += 1) {
    const row = cells(n);
    const json = JSON.stringify(Object.fromEntries(COLUMNS.map((column, i) => [column, row[i]])));
    const summary = row.slice(0, 3).join(' · ');
    chunk += `${jobId}\t${n}\t${Buffer.byteLength(json)}\t${json.replaceAll('\\', '\\\\')}\t\\N\t${summary}\t\\N\n`;
    if (chunk.length < CHUNK_BYTES && n + 1 < end) continue;
    chunks.push(Buffer.from(chunk));
    chunk = '';
  }
  return chunks;
}

async function withClient(work) {
  const client = new pg.Client({ connectionString: task.databaseUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function ingestCsv() {
  const rowmill = await openRowmill({
    databaseUrl: task.databaseUrl,
    settings: { blobStore: task.blobStore },
  });
  const startedMs = performance.now();
  const { jobId } = await rowmill.submitFile(pipeline, task.file);
  const ms = performance.now() - startedMs;
  const { itemCount } = await rowmill.job(jobId);
  await rowmill.close();
  return { rows: itemCount, ms, maxRssMb: maxRssMb(), jobId };
}

/** Upper bound: COPY of the same rows, encoded before the clock starts, in transactions of the same size. */
async function copyItems() {
  const jobId = crypto.randomUUID();
  let ms = 0;
  await withClient(async (client) => {
    for (let first = 0; first < task.rows; first += BATCH) {
      const lines = itemLines(jobId, first, Math.min(task.rows, first + BATCH));
      const startedMs = performance.now();
      const target = client.query(
        copyFrom('copy items (job_id, seq, input_bytes, input, item_key, summary, repair) from stdin'),
      );
      await streamPipeline(Readable.from(lines), target);
      ms += performance.now() - startedMs;
    }
    await client.query('delete from items where job_id = $1', [jobId]);
  });
  return { rows: task.rows, ms, maxRssMb: maxRssMb() };
}

/** Inserts the results that workers would store. */
async function addResults() {
  const startedMs = performance.now();
  await withClient(async (client) => {
    await client.query(
      `insert into result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, result)
       select job_id, seq, 1, 0, 1, 'DONE', 1.5,
              jsonb_build_object('price', seq % 1000 / 10.0, 'shop', 'shop ' || seq % 300, 'url', 'https://shop.example/' || seq)
       from items where job_id = $1`,
      [task.jobId],
    );
    await client.query(
      `insert into result_columns (job_id, generation, name, position)
       values ($1, 1, 'price', 0), ($1, 1, 'shop', 1), ($1, 1, 'url', 2)`,
      [task.jobId],
    );
    await client.query('delete from spans where job_id = $1', [task.jobId]);
    await client.query('vacuum analyze');
  });
  return { rows: task.rows, ms: performance.now() - startedMs, maxRssMb: maxRssMb() };
}

async function exportAs(format) {
  const rowmill = await openRowmill({
    databaseUrl: task.databaseUrl,
    settings: { blobStore: task.blobStore },
  });
  const startedMs = performance.now();
  const stream = rowmill.export(task.jobId, {
    format,
    ...(format === 'xlsx' ? { filter: { seqs: [[0, task.rows]] } } : {}),
  });
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  const ms = performance.now() - startedMs;
  await rowmill.close();
  return { rows: stream.rowCount, ms, maxRssMb: maxRssMb(), bytes };
}

/** Upper bound: the same rows as CSV written by PostgreSQL itself. */
async function copyOut() {
  return withClient(async (client) => {
    const startedMs = performance.now();
    const source = client.query(
      copyTo(
        `copy (select i.seq, i.input, r.status, r.error, r.attempt, r.result
               from items i left join results r on r.job_id = i.job_id and r.seq = i.seq and r.generation = 1
               where i.job_id = '${task.jobId}' order by i.seq) to stdout (format csv)`,
      ),
    );
    let bytes = 0;
    for await (const chunk of source) bytes += chunk.length;
    return { rows: task.rows, ms: performance.now() - startedMs, maxRssMb: maxRssMb(), bytes };
  });
}

async function makeCsv() {
  const startedMs = performance.now();
  const file = createWriteStream(task.file);
  for (const chunk of csvChunks()) if (!file.write(chunk)) await once(file, 'drain');
  file.end();
  await once(file, 'finish');
  return {
    rows: task.rows,
    ms: performance.now() - startedMs,
    maxRssMb: maxRssMb(),
    bytes: file.bytesWritten,
  };
}

function maxRssMb() {
  return process.resourceUsage().maxRSS / 1024;
}

const TASKS = {
  makeCsv,
  ingestCsv,
  copyItems,
  addResults,
  exportCsv: () => exportAs('csv'),
  copyOut,
  exportXlsx: () => exportAs('xlsx'),
  exportJsonl: () => exportAs('jsonl'),
};

console.log(JSON.stringify(await TASKS[task.task]()));
