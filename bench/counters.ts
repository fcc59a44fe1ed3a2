// What exact counters cost: the flush of rows with and without a contribution each, the first time and again, when it
// takes back what the row contributed before; updates with typed arrays against CASE expressions; and a batch among many
// existing rows against the same batch among few.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { runTask } from './run-task.ts';

export interface CounterPlan {
  contributions: number;
  entities: number;
  existing: number;
  /** Batches per statement that is compared. */
  rounds: number;
}

const DATABASE = 'bench_counters';
const BATCH = 50;

export async function measureCounters(
  serverUrl: string,
  plan: CounterPlan,
  report: (text: string) => void,
): Promise<Record<string, number>> {
  const blobStore = await mkdtemp(join(tmpdir(), 'rowmill-bench-counters-'));
  const { contributions, entities, existing, rounds } = plan;
  const run = async <Result extends Record<string, number>>(
    task: string,
    given: Record<string, number>,
  ): Promise<Result> => {
    const databaseUrl = await createDatabase(serverUrl, DATABASE);
    await levelGround(databaseUrl);
    const result = await runTask<Result>('counters-task.mjs', { task, databaseUrl, blobStore, ...given } as {
      task: string;
    });
    const numbers = Object.entries(result).map(([key, value]) => `${key} ${Number(value.toPrecision(4))}`);
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
    const small = await run<{ unnestMs: number; caseMs: number; wholeMs: number }>('compareWithCase', {
      entities,
      rows: BATCH,
      rounds,
    });
    const large = await run<{ unnestMs: number; caseMs: number; wholeMs: number }>('compareWithCase', {
      entities,
      rows: 500,
      rounds,
    });
    const among = await run<{ fewMs: number; manyMs: number }>('compareWithExisting', {
      entities,
      existing,
      batch: BATCH,
      rounds: 5 * rounds,
    });
    return {
      flushPerItemUs: flush.plainUs,
      countingFlushPerItemUs: flush.countingUs,
      counterOverheadPerItemUs: flush.countingUs - flush.plainUs,
      reprocessMs: again.reprocessPlainMs,
      reprocessCountingMs: again.reprocessCountingMs,
      flushAgainPerItemUs: again.plainUs,
      countingFlushAgainPerItemUs: again.countingUs,
      unnest50Ms: small.unnestMs,
      case50Ms: small.caseMs,
      whole50Ms: small.wholeMs,
      unnest500Ms: large.unnestMs,
      case500Ms: large.caseMs,
      whole500Ms: large.wholeMs,
      caseOfUnnest: large.caseMs / large.unnestMs,
      batchAmongFewMs: among.fewMs,
      batchAmongManyMs: among.manyMs,
      manyOfFew: among.manyMs / among.fewMs,
    };
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(blobStore, { recursive: true, force: true });
  }
}
