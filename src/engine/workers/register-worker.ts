// The registration of a live worker: written when it starts, renewed as a heartbeat, deleted when it stops.
import {
  deleteSilentWorkers,
  deleteWorker,
  upsertWorker,
  type WorkerRow,
} from '../../store/commands/jobs/upsert-worker.ts';
import type { EngineContext } from '../engine-context.ts';

/** Registrations of workers that died are kept for this many heartbeats. */
const SILENT_HEARTBEATS = 20;

/** Also used as the heartbeat. */
export async function registerWorker({ db }: EngineContext, worker: WorkerRow): Promise<void> {
  await upsertWorker(db, worker);
}

export async function removeWorker({ db }: EngineContext, workerId: string): Promise<void> {
  await deleteWorker(db, workerId);
}

export async function removeSilentWorkers({ db, settings }: EngineContext): Promise<void> {
  await deleteSilentWorkers(db, settings.heartbeatMs * SILENT_HEARTBEATS);
}
