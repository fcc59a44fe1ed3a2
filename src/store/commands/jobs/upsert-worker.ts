import type { Ability } from '../../../core/claims/ability.ts';
import type { PoolStats } from '../../../core/limits/pool-stats.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const REGISTER_WORKER: Statement = {
  name: 'register-worker',
  text: `
    insert into workers (worker_id, name, version, pipelines, abilities, pools, pressure)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (worker_id) do update set heartbeat_at = now(), pools = excluded.pools, pressure = excluded.pressure`,
};
const REMOVE_WORKER: Statement = { name: 'remove-worker', text: 'delete from workers where worker_id = $1' };
const REMOVE_SILENT_WORKERS: Statement = {
  name: 'remove-silent-workers',
  text: `delete from workers where heartbeat_at < now() - $1::float8 * interval '1 millisecond'`,
};

export interface WorkerRow {
  workerId: string;
  name: string;
  version: string;
  abilities: Ability[];
  pools: PoolStats[];
  /** Share of its capacity that the worker uses, and why. */
  pressure: { share: number; reason: string };
  memoryBytes: number;
}

/** Also used as the heartbeat. */
export async function upsertWorker(db: Executor, worker: WorkerRow): Promise<void> {
  await db.run(REGISTER_WORKER, [
    worker.workerId,
    worker.name,
    worker.version,
    worker.abilities.map((ability) => ability.pipeline),
    JSON.stringify(worker.abilities),
    JSON.stringify(worker.pools),
    JSON.stringify({ ...worker.pressure, memoryBytes: worker.memoryBytes }),
  ]);
}

export async function deleteWorker(db: Executor, workerId: string): Promise<void> {
  await db.run(REMOVE_WORKER, [workerId]);
}

export async function deleteSilentWorkers(db: Executor, silentMs: number): Promise<number> {
  return (await db.run(REMOVE_SILENT_WORKERS, [silentMs])).rowCount ?? 0;
}
