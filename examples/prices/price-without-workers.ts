// Prices an uploaded file over HTTP while no worker runs, as a scheduled cloud function would: it pauses the job
// before anything is paid for, lists its rows, runs them inside requests, and reruns the rows that were not found.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'rowmill/client';

const SLICE_MS = 5000;
const LOOK_MS = 50;

export interface PricedUpload {
  /** Rows waiting while the job was paused. */
  pending: number;
  /** Number of requests in which the rows ran. */
  slices: number;
  /** The rerun, in its own generation. */
  again: { generation: number; rows: number; slices: number };
}

export async function priceWithoutWorkers(client: Client, jobId: string): Promise<PricedUpload> {
  await client.pauseJob({ jobId });
  while ((await client.getJob({ jobId })).sealedAt === null) await sleep(LOOK_MS);
  let pending = 0;
  for await (const _row of client.pages('listPendingOfJob', { jobId })) pending += 1;
  await client.resumeJob({ jobId });
  const slices = await runSlices(client, jobId);
  // Reruns rows that ended as ERROR or NOT_FOUND. Rows that the input schema refused are left out, because it would
  // refuse them again.
  const { generation, selected } = await client.reprocessJob({ jobId, scope: 'job' });
  return { pending, slices, again: { generation, rows: selected, slices: await runSlices(client, jobId) } };
}

/** Runs the job in one request after the other until it is finished. */
async function runSlices(client: Client, jobId: string): Promise<number> {
  for (let slices = 1; ; slices += 1) {
    const { finished, moreReadyInMs } = await client.sliceJob({ jobId, durationMs: SLICE_MS });
    if (finished) return slices;
    await sleep(moreReadyInMs ?? LOOK_MS);
  }
}
