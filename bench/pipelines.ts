// Measures pipelines: three trivial phases, emitted items of which half are already known, and opening a generation
// of a finished job with a tenth of its items failed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { Rounds, type Spreads } from './rounds.ts';
import { runTask } from './run-task.ts';

export interface PipelinePlan {
  rounds: number;
  phaseItems: number;
  emittingItems: number;
  reprocessItems: number;
}

interface Reopened {
  count: number;
  openMs: number;
  cancelMs: number;
}

const DATABASE = 'bench_pipelines';

/** Items and children per second; for generations also the time. */
export async function measurePipelines(
  serverUrl: string,
  plan: PipelinePlan,
  report: (text: string) => void,
): Promise<Spreads> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-pipelines-'));
  const rounds = new Rounds();
  try {
    for (let round = 0; round < plan.rounds; round += 1) {
      const run = async <Result>(task: string, items: number): Promise<Result> => {
        const databaseUrl = await createDatabase(serverUrl, DATABASE);
        await levelGround(databaseUrl);
        const request = { task, databaseUrl, items, blobStore: folder };
        return runTask<Result>('pipeline-task.mjs', request);
      };
      for (const [task, items] of [
        ['phases3', plan.phaseItems],
        ['emit', plan.emittingItems],
      ] as const) {
        const { count, ms } = await run<{ count: number; ms: number }>(task, items);
        rounds.add(task, (count / ms) * 1000, 'more');
        report(`${task}: ${Math.round((count / ms) * 1000)} per second`);
      }
      const reopened = await run<Record<'failed' | 'all', Reopened>>('reprocess', plan.reprocessItems);
      for (const [what, { count, openMs, cancelMs }] of [
        ['Failed', reopened.failed],
        ['All', reopened.all],
      ] as const) {
        for (const [key, ms] of [
          [`reprocess${what}`, openMs],
          [`cancel${what}`, cancelMs],
        ] as const) {
          rounds.add(`${key}Ms`, ms, 'less');
          rounds.add(`${key}PerSecond`, (count / ms) * 1000, 'more');
        }
        report(
          `reprocess${what}: ${count} items opened in ${Math.round(openMs)} ms, cancelled in ${Math.round(cancelMs)} ms`,
        );
      }
    }
    return rounds.spreads();
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}
