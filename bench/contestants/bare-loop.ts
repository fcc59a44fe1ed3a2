// The bare loop: the drain without a queue. It reads items as a claim does, calls the handler and copies the results
// into Rowmill's tables in Rowmill's format, without lease, fence, ledger or retry. Reading, format and tables are
// Rowmill's own, so this limit follows them; connections and COPY are not, so it does not share their mistakes.
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { classifyError } from '../../dist/core/errors/classify-error.js';
import { errorSignature } from '../../dist/core/errors/error-signature.js';
import type { RecordedOutcome } from '../../dist/engine/flush/flush-outcomes.js';
import { ResultBlocks } from '../../dist/engine/flush/result-blocks.js';
import type { Transaction } from '../../dist/platform/database.js';
import { NUMBER_SETTINGS } from '../../dist/platform/setting-table.js';
import { OutcomeLines } from '../../dist/store/commands/items/copy-outcomes.js';
import { insertResultBlocks } from '../../dist/store/commands/results/insert-result-blocks.js';
import {
  type ClaimedItem,
  inputLines,
  parseInputLines,
} from '../../dist/store/commands/spans/claimed-inputs.js';
import type { Contestant, ContestantOptions } from '../contestant.ts';
import { createHandler, type Item } from '../payload.ts';
import { createContestant as createRowmill } from './rowmill.ts';

const READ_ITEMS = `
  select (${inputLines('none', false)}) as lines
  from (select int8multirange(int8range($2::bigint, $3::bigint)) as items) l`;

// Batches of Rowmill's size. Tried with 300,000 items on the embedded PG 18, in thousands of items/s, on 2 cores with
// other load, so compare only within a line:
//   items per batch 1,000 / 5,000 / 10,000                 184-203 / 213-262 / 245-267
//   items per turn of the event loop all / 1,000 / 250     204-216 / 190-232 / 234-244
//   COPY in pieces of 16 kB / 64 kB / 1 MB                 226-241 / 208-246 / 216-245
export const bestSettings = { itemsPerBatch: NUMBER_SETTINGS.flushMaxItems.default, itemsPerTurn: 250 };
const ENDED = { kind: 'terminal', delayMs: 0 } as const;
const MAX_BYTES = NUMBER_SETTINGS.claimMaxBytes.default;

/** Each COPY commits by itself. */
function committingEach(client: pg.Client): Transaction {
  return {
    run: (statement, values = []) => client.query({ ...statement, values }),
    runArrays: async (statement, values = []) =>
      (await client.query({ ...statement, values, rowMode: 'array' })).rows,
    copy: (statement, rows) =>
      new Promise((resolve, reject) => {
        const stream = client.query(copyFrom(statement.text));
        stream.once('error', reject).once('finish', resolve);
        stream.end(typeof rows === 'string' ? Buffer.from(rows) : Buffer.concat(rows));
      }),
  };
}

export function createContestant(options: ContestantOptions, settings = bestSettings): Contestant {
  const { databaseUrl, itemCount } = options;
  const rowmill = createRowmill(options);
  const handle = createHandler(options.payload);
  const connect = () => new pg.Client({ connectionString: databaseUrl, options: '-c jit=off' });
  const reader = connect();
  const writer = connect();
  const writes = committingEach(writer);
  let jobId = '';
  let isOpen = false;
  let looping: Promise<void> = Promise.resolve();

  async function read(first: number): Promise<ClaimedItem[]> {
    if (first >= itemCount) return [];
    const values = [jobId, first, Math.min(first + settings.itemsPerBatch, itemCount), MAX_BYTES];
    const { rows } = await reader.query<{ lines: string }>({ name: 'read', text: READ_ITEMS, values });
    return parseInputLines(rows[0]!.lines, 'none');
  }

  /** Handles one batch. The event loop turns in between, so that the last batch is sent meanwhile. */
  async function handleAll(items: readonly ClaimedItem[]): Promise<() => Promise<void>> {
    const job = { jobId, generation: 1, phase: 0 };
    const lines = new OutcomeLines(job);
    const outcomes: RecordedOutcome[] = [];
    let startedMs = performance.now();
    for (const [at, { seq, input }] of items.entries()) {
      if (at % settings.itemsPerTurn === 0) await turnOfLoop();
      try {
        const json = JSON.stringify(await handle(JSON.parse(input) as Item));
        const endedMs = performance.now();
        outcomes.push({ ...ENDED, seq, status: 'DONE', json, failure: null, handlerMs: endedMs - startedMs });
        startedMs = endedMs;
      } catch (error) {
        const failure = classifyError(error, Date.now());
        const signature = errorSignature(failure.class, failure.message);
        const handlerMs = performance.now() - startedMs;
        outcomes.push({ ...ENDED, seq, status: 'ERROR', json: null, failure, handlerMs });
        lines.result(seq, 1, 'ERROR', handlerMs, failure, null, signature);
      }
    }
    const results = new ResultBlocks(1, false);
    for (const outcome of outcomes) results.add(outcome);
    const { blocks, rows } = results.close();
    for (const { seq, handlerMs, json } of rows) lines.result(seq, 1, 'DONE', handlerMs, null, json, null);
    return async () => {
      await insertResultBlocks(writes, job, blocks);
      await lines.copy(writes);
    };
  }

  async function loop(onFinished: (items: number) => void): Promise<void> {
    let writing: Promise<void> = Promise.resolve();
    let reading = read(0);
    for (let first = 0; first < itemCount; ) {
      const items = await reading;
      first = items.at(-1)!.seq + 1;
      reading = read(first);
      const write = await handleAll(items);
      await writing;
      writing = write().then(() => onFinished(items.length));
    }
    await writing;
  }

  return {
    setup: rowmill.setup,
    enqueue: rowmill.enqueue,
    async prepareWorker() {
      await Promise.all([reader.connect(), writer.connect()]);
      isOpen = true;
      jobId = (await reader.query<{ id: string }>('select job_id as id from jobs')).rows[0]!.id;
    },
    async startWorker(onFinished) {
      looping = loop(onFinished);
    },
    async settle() {
      await looping;
      return null;
    },
    countFinished: rowmill.countFinished,
    async close() {
      await rowmill.close();
      if (isOpen) await Promise.all([reader.end(), writer.end()]);
    },
  };
}
