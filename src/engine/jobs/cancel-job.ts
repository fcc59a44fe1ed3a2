// Cancels a job. One update stops it immediately. Items without a result then become CANCELLED in bounded steps, and
// the job finishes like any other, with one summary and its files. If the process crashes midway, the sweep resumes.
import { faultPoint } from '../../platform/fault-point.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { beginCancelling } from '../../store/commands/jobs/begin-cancelling.ts';
import { cancelItems } from '../../store/commands/spans/cancel-items.ts';
import { planByKey } from '../../store/commands/spans/plan-by-key.ts';
import { hasItemsToCancel } from '../../store/views/spans/has-items-to-cancel.ts';
import type { EngineContext } from '../engine-context.ts';
import { finalizeIfComplete } from './finalize-if-complete.ts';
import { recordChange } from './record-change.ts';
import { refuseControl } from './refuse-control.ts';

/** A step takes a tenth of a second, so flushes that wait for its rows are hardly delayed. */
const ITEMS_PER_STEP = 20_000;

/** Resolves when every item has a result; false if the job was already cancelled. */
export async function cancelJob(context: EngineContext, jobId: string): Promise<boolean> {
  const began = await decideCancel(context, jobId);
  await cancelRest(context, jobId);
  return began;
}

/** After this no item starts. Returns false if the job was already cancelled. `cancelRest` does the rest. */
export async function decideCancel(context: EngineContext, jobId: string): Promise<boolean> {
  const began = await retryPassing(() =>
    context.db.transaction(async (tx) => {
      if (!(await beginCancelling(tx, jobId))) return false;
      await recordChange(tx, context, { jobId, kind: 'job.cancelling', action: 'job.cancel' });
      return true;
    }),
  );
  if (began) context.events.emit('job.cancelling', { jobId });
  else await refuseControl(context, jobId, 'cancel', ({ cancelledAt }) => cancelledAt !== null);
  faultPoint('cancel.after_begin');
  return began;
}

/** Completes a cancellation. Any number of processes may run it at the same time. */
export async function cancelRest(
  context: EngineContext,
  jobId: string,
  itemsPerStep = ITEMS_PER_STEP,
): Promise<void> {
  let size = itemsPerStep;
  do {
    for (;;) {
      const taken = await cancelStep(context, jobId, size);
      if (taken.items === 0) break;
      size = Math.min(itemsPerStep, taken.size * 2);
      faultPoint('cancel.after_step');
    }
    faultPoint('cancel.before_finalize');
    await finalizeIfComplete(context, jobId);
    // A flush that the last step waited for may have added a span that the step did not see.
  } while (await hasItemsToCancel(context.db, jobId));
}

/** A failed step may have hit the timeout: each further try takes a quarter of the items, down to one. */
export async function cancelStep(
  context: EngineContext,
  jobId: string,
  itemsPerStep: number,
): Promise<{ items: number; size: number }> {
  let size = itemsPerStep;
  const step = (): Promise<number> =>
    context.db.transaction(async (tx) => {
      await planByKey(tx);
      return cancelItems(tx, jobId, size);
    });
  const items = await retryPassing(step, {
    onRetry: () => {
      size = Math.ceil(size / 4);
    },
  });
  return { items, size };
}
