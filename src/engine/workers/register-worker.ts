// The entry of a worker among those that are alive: written at its start, renewed as a heartbeat, removed at its end.
import {
  removeSilentWorkers as deleteSilentWorkers,
  removeWorker as deleteWorker,
  registerWorker as upsertWorker,
  type WorkerRow,
} from '../../store/commands/jobs/register-worker.ts';
import type { EngineContext } from '../engine-context.ts';

/** Entries of workers that ended without removing theirs are kept for so many heartbeats. */
const SILENT_HEARTBEATS = 20;

/** Also the heartbeat. */
export async function registerWorker({ db }: EngineContext, worker: WorkerRow): Promise<void> {
  await upsertWorker(db, worker);
}

export async function removeWorker({ db }: EngineContext, workerId: string): Promise<void> {
  await deleteWorker(db, workerId);
}

export async function removeSilentWorkers({ db, settings }: EngineContext): Promise<void> {
  await deleteSilentWorkers(db, settings.heartbeatMs * SILENT_HEARTBEATS);
}
