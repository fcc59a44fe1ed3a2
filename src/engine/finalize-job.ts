// The last step of a generation: leased and resumable. Whatever takes long happens between taking the lease and
// the short transaction that writes summary, event and state together; the finalize token is the fence.
import { faultPoint } from '../platform/fault-point.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { claimFinalize, finishJobRow } from '../store/commands/finalize-lease.ts';
import { insertOutboxEvent, insertSummary } from '../store/commands/insert-summary.ts';
import type { EngineContext } from './engine-context.ts';

/** True when this call wrote the summary; false when somebody else holds or has finished it. */
export async function finalizeJob(context: EngineContext, jobId: string): Promise<boolean> {
  const token = newId();
  const lease = await claimFinalize(context.db, {
    jobId,
    workerId: token,
    token,
    leaseMs: context.settings.finalizeLeaseMs,
  });
  if (!lease) return false;
  const outcome = 'DONE';
  const written = await retryPassing(() =>
    context.db.transaction(
      async (tx) => {
        if (!(await finishJobRow(tx, jobId, token, outcome))) return false;
        await insertSummary(tx, jobId, lease.generation, outcome);
        await insertOutboxEvent(tx, jobId, 'job.finished', { jobId, generation: lease.generation, outcome });
        return true;
      },
      () => faultPoint('finalize.before_commit'),
    ),
  );
  if (!written) return false;
  faultPoint('finalize.after_commit');
  context.events.emit('job.finished', { jobId, generation: lease.generation, outcome });
  return true;
}
