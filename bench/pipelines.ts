// What pipelines cost: three trivial phases, and items that handlers emit, half of which are known already.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { runTask } from './run-task.ts';

export interface PipelinePlan {
  rounds: number;
  phaseItems: number;
  emittingItems: number;
}

const DATABASE = 'bench_pipelines';

/** Items, and children, per second. */
export async function measurePipelines(
  serverUrl: string,
  plan: PipelinePlan,
  report: (text: string) => void,
): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-pipelines-'));
  const best: Record<string, number> = {};
  try {
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const [task, items] of [
        ['phases3', plan.phaseItems],
        ['emit', plan.emittingItems],
      ] as const) {
        const databaseUrl = await createDatabase(serverUrl, DATABASE);
        await levelGround(databaseUrl);
        const { count, ms } = await runTask<{ count: number; ms: number }>('pipeline-task.mjs', {
          task,
          databaseUrl,
          items,
          blobStore: folder,
        } as { task: string });
        best[task] = Math.max(best[task] ?? 0, (count / ms) * 1000);
        report(`${task}: ${Math.round((count / ms) * 1000)} per second`);
      }
    }
    return best;
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}
