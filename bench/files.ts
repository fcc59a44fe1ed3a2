// Measures ingest and export: CSV rows to items against COPY of the same encoded rows, results to CSV against COPY of
// the same rows to the client, and the peak memory of each.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, dropDatabase, levelGround } from './measure.ts';
import { combine, Rounds, type Spread, type Spreads } from './rounds.ts';
import { runTask } from './run-task.ts';

interface FileTask {
  task:
    | 'makeCsv'
    | 'ingestCsv'
    | 'copyItems'
    | 'addResults'
    | 'exportCsv'
    | 'copyOut'
    | 'exportXlsx'
    | 'exportJsonl';
  databaseUrl: string;
  file: string;
  rows: number;
  blobStore: string;
  jobId?: string;
}

interface FileTaskResult {
  rows: number;
  ms: number;
  maxRssMb: number;
  jobId?: string;
}

export interface FilePlan {
  rounds: number;
  csvRows: number;
  xlsxRows: number;
}

const DATABASE = 'bench_files';

export async function measureFiles(
  serverUrl: string,
  plan: FilePlan,
  report: (text: string) => void,
): Promise<Spreads> {
  const databaseUrl = await createDatabase(serverUrl, DATABASE);
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-bench-files-'));
  const file = join(folder, 'rows.csv');
  const rounds = new Rounds();
  const run = async (task: FileTask['task'], more: Partial<FileTask> = {}): Promise<FileTaskResult> => {
    const result = await runTask<FileTaskResult>('file-task.mjs', {
      task,
      databaseUrl,
      file,
      rows: plan.csvRows,
      blobStore: join(folder, 'blobs'),
      ...more,
    } as FileTask);
    report(
      `${task}: ${Math.round((result.rows / result.ms) * 1000)} rows/s, peak ${Math.round(result.maxRssMb)} MB`,
    );
    return result;
  };
  const keep = (name: string, { rows, ms, maxRssMb }: FileTaskResult): void => {
    rounds.add(name, (rows / ms) * 1000, 'more');
    rounds.add(`${name}PeakMb`, maxRssMb, 'less');
  };
  try {
    await run('makeCsv');
    for (let round = 0; round < plan.rounds; round += 1) {
      const ingested = await run('ingestCsv', { blobStore: join(folder, `blobs-${round}`) });
      if (ingested.rows !== plan.csvRows)
        throw new Error(`expected ${plan.csvRows} items, got ${ingested.rows}`);
      keep('ingestCsv', ingested);
      await levelGround(databaseUrl);
      keep('copyLimit', await run('copyItems'));
      const jobId = ingested.jobId!;
      await run('addResults', { jobId });
      await levelGround(databaseUrl);
      keep('exportCsv', await run('exportCsv', { jobId }));
      keep('exportLimit', await run('copyOut', { jobId }));
      if (round === 0) {
        keep('exportXlsx', await run('exportXlsx', { jobId, rows: plan.xlsxRows }));
        keep('exportJsonl', await run('exportJsonl', { jobId }));
      }
      // The same file for the same owner would be the same job.
      await createDatabase(serverUrl, DATABASE);
    }
    const spreads = rounds.spreads();
    const part = (of: string, limit: string): Spread =>
      combine(spreads[of]!, spreads[limit]!, (a, b) => a / b);
    return {
      ...spreads,
      ingestOfLimit: part('ingestCsv', 'copyLimit'),
      exportOfLimit: part('exportCsv', 'exportLimit'),
    };
  } finally {
    await dropDatabase(serverUrl, DATABASE);
    await rm(folder, { recursive: true, force: true });
  }
}
