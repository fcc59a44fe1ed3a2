// Prices an uploaded file over HTTP while no worker runs, as a scheduled request of a cloud function would: the job is paused
// before anything is paid for, its rows are looked at, they run inside of requests, and what was not found is asked for again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'rowmill/client';

const SLICE_MS = 5000;
const LOOK_MS = 50;

export interface PricedUpload {
  /** Rows that waited while the job was paused. */
  pending: number;
  /** Requests that the rows ran in. */
  slices: number;
  /** Rows that ran again, in a generation of their own. */
  again: { generation: number; rows: number; slices: number };
}

export async function priceWithoutWorkers(client: Client, jobId: string): Promise<PricedUpload> {
  await client.pauseJob({ jobId });
  while ((await client.getJob({ jobId })).sealedAt === null) await sleep(LOOK_MS);
  let pending = 0;
  for await (const _row of client.pages('listPendingOfJob', { jobId })) pending += 1;
  await client.resumeJob({ jobId });
  const slices = await kickOff(client, jobId);
  // Rows that ended as ERROR or NOT_FOUND; those that the input schema refused would be refused again, and are left out.
  const { generation, selected } = await client.reprocessJob({ jobId, scope: 'job' });
  return { pending, slices, again: { generation, rows: selected, slices: await kickOff(client, jobId) } };
}

/** Works on the job in one request after the other until it has ended. */
async function kickOff(client: Client, jobId: string): Promise<number> {
  for (let slices = 1; ; slices += 1) {
    const { finished, moreReadyInMs } = await client.kickoffJob({ jobId, durationMs: SLICE_MS });
    if (finished) return slices;
    await sleep(moreReadyInMs ?? LOOK_MS);
  }
}
