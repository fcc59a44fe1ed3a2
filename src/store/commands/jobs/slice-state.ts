import type { Executor, Statement } from '../../../platform/database.ts';
import { FINISHED } from '../../job-states.ts';

const READ_SLICE_STATE: Statement = {
  name: 'read-slice-state',
  text: 'select slice_state::text from jobs where job_id = $1',
};

// Compare and set: if two slices finish at the same time, one stores its measurements, and either will do. A finished
// job is left alone.
const STORE_SLICE_STATE: Statement = {
  name: 'store-slice-state',
  text: `
    update jobs set slice_state = $3::jsonb
    where job_id = $1 and slice_state is not distinct from $2::jsonb
      and state not in ${FINISHED}`,
};

/** JSON text; null before the first slice. */
export async function readSliceState(db: Executor, jobId: string): Promise<string | null> {
  return ((await db.runArrays(READ_SLICE_STATE, [jobId]))[0]?.[0] ?? null) as string | null;
}

/** Returns false if another slice was faster. */
export async function storeSliceState(
  db: Executor,
  jobId: string,
  { before, after }: { before: string | null; after: string },
): Promise<boolean> {
  return (await db.run(STORE_SLICE_STATE, [jobId, before, after])).rowCount === 1;
}
