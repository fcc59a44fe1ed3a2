// What pipelines cost: three trivial phases, items that handlers emit, half of which are known already, and opening a
// generation of a finished job, of which a tenth had failed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
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

/** Items, and children, per second; of generations also the time. */
export async function measurePipelines(
  serverUrl: string,
  plan: PipelinePlan,
  report: (text: string) => void,
): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-pipelines-'));
  const best: Record<string, number> = {};
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
        best[task] = Math.max(best[task] ?? 0, (count / ms) * 1000);
        report(`${task}: ${Math.round((count / ms) * 1000)} per second`);
      }
      const reopened = await run<Record<'failed' | 'all', Reopened>>('reprocess', plan.reprocessItems);
      for (const [what, { count, openMs, cancelMs }] of [
        ['Failed', reopened.failed],
        ['All', reopened.all],
      ] as const) {
        keepFastest(best, `reprocess${what}`, count, openMs);
        keepFastest(best, `cancel${what}`, count, cancelMs);
        report(
          `reprocess${what}: ${count} items opened in ${Math.round(openMs)}, cancelled in ${Math.round(cancelMs)} ms`,
        );
      }
    }
    return best;
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}

function keepFastest(best: Record<string, number>, key: string, count: number, ms: number): void {
  best[`${key}Ms`] = Math.min(best[`${key}Ms`] ?? Number.POSITIVE_INFINITY, ms);
  best[`${key}PerSecond`] = (count / best[`${key}Ms`]!) * 1000;
}
