// Retries waiting rows now and reports how many were waiting.
import { say, sayError } from '../components/toasts.tsx';
import { client, queries } from './client.ts';
import { formatCount } from './format.ts';

export interface WaitingRow {
  jobId: string;
  seq: number;
}

/** Retries all waiting rows of a job. */
export async function retryAllNow(jobId: string): Promise<void> {
  await tell(async () => (await client.retryPending({ jobId })).readied);
  await queries.invalidateQueries({ queryKey: ['job', jobId] });
}

/** Retries these rows, from any number of jobs. */
export async function retryRowsNow(rows: readonly WaitingRow[]): Promise<void> {
  const byJob = new Map<string, number[]>();
  for (const { jobId, seq } of rows) byJob.set(jobId, [...(byJob.get(jobId) ?? []), seq]);
  await tell(async () => {
    let readied = 0;
    for (const [jobId, itemIds] of byJob) readied += (await client.retryPending({ jobId, itemIds })).readied;
    return readied;
  });
  for (const jobId of byJob.keys()) await queries.invalidateQueries({ queryKey: ['job', jobId] });
  await queries.invalidateQueries({ queryKey: ['pending'] });
}

async function tell(retry: () => Promise<number>): Promise<void> {
  try {
    const readied = await retry();
    say(
      readied === 0
        ? 'None of these rows is waiting to retry'
        : `Retrying ${formatCount(readied)} ${readied === 1 ? 'row' : 'rows'} now`,
    );
  } catch (error) {
    sayError(error);
  }
}
