import type { WorkerPressure } from '../../../core/jobs/slow-because.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Pressure of workers that have a recent heartbeat and this pipeline, lowest share first. Reads all workers.
const LIST_PRESSURES: Statement = {
  name: 'list-pressures',
  text: `
    select w.name as worker, (w.pressure ->> 'share')::float8 as share, w.pressure ->> 'reason' as reason
    from workers w
    where w.heartbeat_at > now() - $1::float8 * interval '1 millisecond'
      and $2 = any(w.pipelines) and w.pressure is not null
    order by 2, 1
    limit 100`,
};

export async function listPressures(
  db: Executor,
  silentMs: number,
  pipeline: string,
): Promise<WorkerPressure[]> {
  return (await db.run<WorkerPressure & Record<string, unknown>>(LIST_PRESSURES, [silentMs, pipeline])).rows;
}
