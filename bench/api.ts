// Measures the API while a job runs: the state of that job, pages of a large job, and the last page against the first.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { type Better, Rounds, type Spreads } from './rounds.ts';
import { runTask } from './run-task.ts';

export interface ApiPlan {
  rounds: number;
  items: number;
  useMs: number;
  /** Pairs of a first and a last page. */
  pairs: number;
}

const DATABASE = 'bench_api';

interface Rate {
  perSecond: number;
  p99Ms: number;
}

export async function measureApi(
  serverUrl: string,
  plan: ApiPlan,
  report: (text: string) => void,
): Promise<Spreads> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-api-'));
  const rounds = new Rounds();
  const keep = (key: string, value: number, better: Better): void => {
    rounds.add(key, value, better);
    report(`${key}: ${Number(value.toPrecision(4))}`);
  };
  try {
    const databaseUrl = await createDatabase(serverUrl, DATABASE);
    const given = { databaseUrl, items: plan.items, useMs: plan.useMs, pairs: plan.pairs, blobStore: folder };
    const { jobId } = await runTask<{ jobId: string }>('api-task.mjs', { task: 'fill', ...given } as {
      task: string;
    });
    await levelGround(databaseUrl);
    for (let round = 0; round < plan.rounds; round += 1) {
      const measured = await runTask<{ status: Rate; page: Rate; deep: number }>('api-task.mjs', {
        task: 'measure',
        jobId,
        ...given,
      } as { task: string });
      keep('apiStatus', measured.status.perSecond, 'more');
      keep('apiStatusP99Ms', measured.status.p99Ms, 'less');
      keep('apiItemsPage', measured.page.perSecond, 'more');
      keep('apiItemsPageP99Ms', measured.page.p99Ms, 'less');
      keep('deepPage', measured.deep, 'less');
    }
    return rounds.spreads();
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}
