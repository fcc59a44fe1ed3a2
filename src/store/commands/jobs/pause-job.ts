import type { Executor, Statement } from '../../../platform/database.ts';
import { canGo } from '../../job-states.ts';

// A claim reads the state in its own statement, so none that starts after this commit finds anything.
const PAUSE_JOB: Statement = {
  name: 'pause-job',
  text: `update jobs set state = 'PAUSED', paused_because = null where job_id = $1 and ${canGo('pause')}`,
};

export async function pauseJobRow(db: Executor, jobId: string): Promise<boolean> {
  return (await db.run(PAUSE_JOB, [jobId])).rowCount === 1;
}
