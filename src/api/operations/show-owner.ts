// The owner as the API and the command line show it.
import type { z } from 'zod';
import type { owner } from '../../contract/operations.ts';
import type { ListedOwner } from '../../store/views/limits/list-owners.ts';

export function showOwner(listed: ListedOwner): Required<z.infer<typeof owner>> {
  const { jobs, running, waiting, leased, ...limits } = listed;
  return {
    ...limits,
    openJobs: jobs,
    runningJobs: running,
    itemsWaiting: waiting,
    itemsInFlight: leased,
  };
}
