import type { z } from 'zod';
import type { worker } from '../../contract/operations.ts';
import type { ListedWorker } from '../../store/views/jobs/list-workers.ts';

/** A worker as the API and the command line show it. */
export function showWorker(listed: ListedWorker): z.infer<typeof worker> {
  const { workerId, name, version, pipelines, alive, leasedItems, pressure, memoryBytes } = listed;
  return {
    ...{ workerId, name, version, pipelines, alive, leasedItems, pressure, memoryBytes },
    startedAt: listed.startedAt.toISOString(),
    heartbeatAt: listed.heartbeatAt.toISOString(),
    pools: listed.pools.map(({ pipeline, phase, idle, busy, error, queued, waiting }) => {
      return { pipeline, phase, idle, busy, error, queued, waiting };
    }),
  };
}
