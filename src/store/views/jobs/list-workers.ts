import type { PoolStats } from '../../../core/limits/pool-stats.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

/** Columns of worker `w`; `silentMs` is the parameter after which it counts as gone. */
export const WORKER_COLUMNS = (
  silentMs: string,
): string => `w.worker_id as "workerId", w.name, w.version, w.pipelines,
      w.started_at as "startedAt", w.heartbeat_at as "heartbeatAt",
      w.heartbeat_at > now() - ${silentMs}::float8 * interval '1 millisecond' as alive, w.pools,
      w.pressure - 'memoryBytes' as pressure, (w.pressure ->> 'memoryBytes')::bigint as "memoryBytes"`;

// Worker processes with their leased items, most recent heartbeat first. A view for people: it reads every lease.
// Index: spans_leased.
const LIST_WORKERS: Statement = {
  name: 'list-workers',
  text: `
    select ${WORKER_COLUMNS('$1')}, coalesce(l.items, 0)::bigint as "leasedItems"
    from workers w
    left join (
      select s.worker_id, sum(s.item_count) as items from spans s where s.worker_id is not null group by s.worker_id
    ) l on l.worker_id = w.worker_id
    order by w.heartbeat_at desc, w.worker_id
    limit $2`,
};

export interface ListedWorker {
  workerId: string;
  name: string;
  version: string;
  pipelines: string[];
  startedAt: Date;
  heartbeatAt: Date;
  /** The last heartbeat is within the given time. */
  alive: boolean;
  leasedItems: number;
  pools: PoolStats[];
  pressure: { share: number; reason: string } | null;
  /** Memory of the process at its last heartbeat. */
  memoryBytes: number | null;
}

export async function listWorkers(db: Executor, silentMs: number, limit = 1000): Promise<ListedWorker[]> {
  return (await db.run<ListedWorker & Record<string, unknown>>(LIST_WORKERS, [silentMs, limit])).rows;
}
