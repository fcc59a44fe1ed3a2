import type { Executor, Statement } from '../../../platform/database.ts';
import type { OpenedGeneration } from '../../commands/jobs/open-generation.ts';

const FIND_GENERATION: Statement = {
  name: 'find-generation',
  text: `
    select generation, selected, left_out as "leftOut" from generations
    where job_id = $1 and generation = $2 and request_id = $3`,
};

/** The generation, if this request opened it. */
export async function findGeneration(
  db: Executor,
  jobId: string,
  generation: number,
  requestId: string,
): Promise<OpenedGeneration | null> {
  const { rows } = await db.run<OpenedGeneration & Record<string, unknown>>(FIND_GENERATION, [
    jobId,
    generation,
    requestId,
  ]);
  return rows[0] ?? null;
}
