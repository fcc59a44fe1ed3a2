import type { Executor, Statement } from '../../../platform/database.ts';
import { blockValues, insertBlocks, type ResultBlock } from './result-block.ts';

const INSERT_RESULT_BLOCKS: Statement = { name: 'insert-result-blocks', text: insertBlocks(4, 'true') };

export async function insertResultBlocks(
  db: Executor,
  { jobId, generation, phase }: { jobId: string; generation: number; phase: number },
  blocks: readonly ResultBlock[],
): Promise<void> {
  if (blocks.length > 0)
    await db.run(INSERT_RESULT_BLOCKS, [jobId, generation, phase, ...blockValues(blocks)]);
}
