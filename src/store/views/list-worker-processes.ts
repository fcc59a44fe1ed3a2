import type { Executor, Statement } from '../../platform/database.ts';

// Workers that were heard of within a day; there are few of them, so the table is read whole.
const LIST_WORKER_PROCESSES: Statement = {
  name: 'list-worker-processes',
  text: `
    select worker_id, name, version, pipelines, started_at, heartbeat_at,
           heartbeat_at > now() - $1::float8 * interval '1 millisecond' as alive
    from workers
    where heartbeat_at > now() - interval '1 day'
    order by heartbeat_at desc, worker_id
    limit 1000`,
};

export interface WorkerProcess {
  workerId: string;
  name: string;
  version: string;
  pipelines: string[];
  startedAt: Date;
  heartbeatAt: Date;
  /** Heard of lately. */
  alive: boolean;
}

export async function listWorkerProcesses(db: Executor, silentMs: number): Promise<WorkerProcess[]> {
  const rows = await db.runArrays(LIST_WORKER_PROCESSES, [silentMs]);
  return rows.map((row) => {
    const [workerId, name, version, pipelines, startedAt, heartbeatAt, alive] = row as [
      string,
      string,
      string,
      string[],
      Date,
      Date,
      boolean,
    ];
    return { workerId, name, version, pipelines, startedAt, heartbeatAt, alive };
  });
}
