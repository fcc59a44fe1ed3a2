// Measures cost and use of shared limits: four processes on one resource, a drain with and without a resource, and a
// small job beside a very large one.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { type Better, combine, Rounds, type Spreads } from './rounds.ts';
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
): Promise<Spreads> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-limits-'));
  const rounds = new Rounds();
  const keep = (key: string, value: number, better: Better): void => {
    rounds.add(key, value, better);
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
      keep('permitsPerSecond', perSecond, 'more');
      const { withUs, withoutUs } = await run<{ withUs: number; withoutUs: number }>('overhead', plan.items);
      keep('drainLimitedPerItemUs', withUs, 'less');
      keep('drainPerItemUs', withoutUs, 'less');
      const { ms } = await run<{ ms: number }>('smallJob', plan.largeItems);
      keep('fairnessSmallJobDelayMs', ms, 'less');
      const use = await run<{ rate: number; atOnce: number }>('use', 0);
      keep('rateUtilisation', use.rate, 'more');
      keep('concurrencyUtilisation', use.atOnce, 'more');
    }
    const spreads = rounds.spreads();
    const { drainLimitedPerItemUs: limited, drainPerItemUs: plain } = spreads;
    return { ...spreads, limiterOverheadPerItemUs: combine(limited!, plain!, (a, b) => a - b) };
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}
