// Runs a job to its end, alone: claims all waiting items, records them as done, and finalizes after every flush if the
// job is complete, like a worker. Any job that a test leaves open must be finishable like this.
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { doneOutcome } from './seed-job.ts';

const LAST_PHASE = 1;

/** Returns the number of items completed. Leases of other workers are not touched. */
export async function drainJob(
  context: EngineContext,
  jobId: string,
  { hasEdits = false } = {},
): Promise<number> {
  const workerId = newId();
  let ended = 0;
  for (let phase = 0; phase <= LAST_PHASE; phase += 1) {
    for (;;) {
      const bounds = { maxItems: 1000, maxBytes: 1_000_000, leaseMs: 60_000 };
      const request = { ...bounds, jobId, phase, workerId, token: newId(), hasEdits };
      const claim =
        (await claimItems(context.db, request)) ??
        (await claimItems(context.db, { ...request, suspects: true }));
      if (!claim) break;
      const kind = phase === LAST_PHASE ? 'terminal' : 'advance';
      const report = await flushOutcomes(
        context,
        {
          jobId,
          generation: claim.generation,
          phase,
          workerId,
          flushId: newId(),
          leases: [
            { ...claim, outcomes: claim.items.map(({ seq }) => ({ ...doneOutcome(seq), kind }) as const) },
          ],
        },
        false,
      );
      if (kind === 'terminal') ended += report.recorded;
      if (report.mayFinish) await finalizeIfComplete(context, jobId);
    }
  }
  return ended;
}
