// Measures the cost of exact counters: flushes with and without a contribution per row, in a first run and in a rerun
// that takes back earlier contributions; updates with typed arrays against CASE expressions; and a batch among many
// existing rows against the same batch among few.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { combine, type Spread, type Spreads, spreadOf } from './rounds.ts';
import { runTask } from './run-task.ts';

export interface CounterPlan {
  contributions: number;
  entities: number;
  existing: number;
  /** Batches per compared statement. */
  rounds: number;
}

const DATABASE = 'bench_counters';
const BATCH = 50;

export async function measureCounters(
  serverUrl: string,
  plan: CounterPlan,
  report: (text: string) => void,
): Promise<Spreads> {
  const blobStore = await mkdtemp(join(tmpdir(), 'rowmill-bench-counters-'));
  const { contributions, entities, existing, rounds } = plan;
  const run = async <Result extends Record<string, number | Spread>>(
    task: string,
    given: Record<string, number>,
  ): Promise<Result> => {
    const databaseUrl = await createDatabase(serverUrl, DATABASE);
    await levelGround(databaseUrl);
    const result = await runTask<Result>('counters-task.mjs', { task, databaseUrl, blobStore, ...given } as {
      task: string;
    });
    const numbers = Object.entries(result).map(([key, value]) => `${key} ${describe(value)}`);
    report(`${task} ${JSON.stringify(given)}: ${numbers.join(', ')}`);
    return result;
  };
  try {
    const flush = await run<{ plainUs: number; countingUs: number }>('flushes', {
      items: contributions,
      entities,
      batch: BATCH,
    });
    const again = await run<{
      reprocessPlainMs: number;
      reprocessCountingMs: number;
      plainUs: number;
      countingUs: number;
    }>('again', { items: contributions, entities, batch: BATCH, rounds: 10 * rounds });
    const small = await run<Record<'unnestMs' | 'caseMs' | 'wholeMs', Spread>>('compareWithCase', {
      entities,
      rows: BATCH,
      rounds,
    });
    const large = await run<Record<'unnestMs' | 'caseMs' | 'wholeMs', Spread>>('compareWithCase', {
      entities,
      rows: 500,
      rounds,
    });
    const among = await run<Record<'fewMs' | 'manyMs', Spread>>('compareWithExisting', {
      entities,
      existing,
      batch: BATCH,
      rounds: 5 * rounds,
    });
    return {
      flushPerItemUs: once(flush.plainUs),
      countingFlushPerItemUs: once(flush.countingUs),
      counterOverheadPerItemUs: once(flush.countingUs - flush.plainUs),
      reprocessMs: once(again.reprocessPlainMs),
      reprocessCountingMs: once(again.reprocessCountingMs),
      flushAgainPerItemUs: once(again.plainUs),
      countingFlushAgainPerItemUs: once(again.countingUs),
      unnest50Ms: small.unnestMs,
      case50Ms: small.caseMs,
      whole50Ms: small.wholeMs,
      unnest500Ms: large.unnestMs,
      case500Ms: large.caseMs,
      whole500Ms: large.wholeMs,
      caseOfUnnest: combine(large.caseMs, large.unnestMs, (a, b) => a / b),
      batchAmongFewMs: among.fewMs,
      batchAmongManyMs: among.manyMs,
      manyOfFew: combine(among.manyMs, among.fewMs, (a, b) => a / b),
    };
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(blobStore, { recursive: true, force: true });
  }
}

/** A value measured once. */
const once = (value: number): Spread => spreadOf([value], 'less');

function describe(value: number | Spread): string {
  const numbers = typeof value === 'number' ? [value] : [value.best, value.median, value.worst];
  return numbers.map((number) => Number(number.toPrecision(4))).join(' / ');
}
