// What shared limits cost and how much of them is used: four processes on one resource, a drain with and without one, and
// a small job beside a very large one.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { runTask } from './run-task.ts';

export interface LimitPlan {
  rounds: number;
  items: number;
  largeItems: number;
  useMs: number;
}

const DATABASE = 'bench_limits';

export async function measureLimits(
  serverUrl: string,
  plan: LimitPlan,
  report: (text: string) => void,
): Promise<Record<string, number>> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-limits-'));
  const best: Record<string, number> = {};
  const keep = (key: string, value: number, pick: (a: number, b: number) => number): void => {
    best[key] = key in best ? pick(best[key]!, value) : value;
    report(`${key}: ${Number(value.toPrecision(4))}`);
  };
  const run = async <Result>(task: string, items: number): Promise<Result> => {
    const databaseUrl = await createDatabase(serverUrl, DATABASE);
    await levelGround(databaseUrl);
    return runTask<Result>('limits-task.mjs', {
      task,
      databaseUrl,
      items,
      useMs: plan.useMs,
      blobStore: folder,
    } as {
      task: string;
    });
  };
  try {
    for (let round = 0; round < plan.rounds; round += 1) {
      const { perSecond } = await run<{ perSecond: number }>('permits', plan.items);
      keep('permitsPerSecond', perSecond, Math.max);
      const { withUs, withoutUs } = await run<{ withUs: number; withoutUs: number }>('overhead', plan.items);
      keep('drainLimitedPerItemUs', withUs, Math.min);
      keep('drainPerItemUs', withoutUs, Math.min);
      const { ms } = await run<{ ms: number }>('smallJob', plan.largeItems);
      keep('fairnessSmallJobDelayMs', ms, Math.min);
      const use = await run<{ rate: number; atOnce: number }>('use', 0);
      keep('rateUtilisation', use.rate, Math.max);
      keep('concurrencyUtilisation', use.atOnce, Math.max);
    }
    // Of the best rounds of both: the difference within one round is mostly noise.
    return { ...best, limiterOverheadPerItemUs: best.drainLimitedPerItemUs! - best.drainPerItemUs! };
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}
