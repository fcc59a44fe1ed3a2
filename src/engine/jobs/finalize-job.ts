// The last step of a generation, under a lease and resumable. Output files are written and checked after the lease
// is taken. A short transaction then writes summary, event and state together; the finalize token is its fence. No
// lock is held while bytes move. If the blob store is down, the summary is delayed and the job shows the reason.
// If writing the files keeps crashing or stalling processes, the job fails with its summary and without files.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { OutputFile } from '../../core/files/output-format.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { type GenerationDiff, generationDiff } from '../../core/jobs/generation-diff.ts';
import { outcomeOf } from '../../core/jobs/job-outcome.ts';
import { backoffMs, halfJitter } from '../../core/retries/backoff.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { keepLease } from '../../platform/keep-lease.ts';
import { newId, randomFraction } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import {
  claimFinalize,
  finishJobRow,
  noteOutputFile,
  postponeFinalize,
  renewFinalize,
} from '../../store/commands/jobs/finalize-lease.ts';
import { insertCallbacks } from '../../store/commands/jobs/insert-callbacks.ts';
import { insertSummary } from '../../store/commands/jobs/insert-summary.ts';
import { compareGenerations } from '../../store/views/jobs/compare-generations.ts';
import type { EngineContext } from '../engine-context.ts';
import { deleteOtherAttempts, writeOutputFiles } from '../exports/write-output-files.ts';
import { recordChange } from './record-change.ts';

const FIRST_DELAY_MS = 500;

/**
 * Returns true if this call wrote the summary; false if another process holds or has finished it, or it has to
 * wait.
 */
export async function finalizeJob(context: EngineContext, jobId: string): Promise<boolean> {
  const { db, settings } = context;
  const token = newId();
  const leaseMs = settings.finalizeLeaseMs;
  const claimed = await claimFinalize(db, { jobId, workerId: token, token, leaseMs });
  if (!claimed) return false;
  const { generation, attempt, takeovers } = claimed;
  const failure = takeovers < settings.jobMaxTakeovers ? null : gaveUp(jobId, takeovers);
  const state = failure === null ? claimed.state : ('FAILED' as const);
  const lease = keepLease({
    leaseMs,
    renew: () => renewFinalize(db, jobId, token, leaseMs),
    lost: () => new RowmillError('JOB_CONFLICT', `another process is now finalizing job ${jobId}`),
  });
  let files: OutputFile[] = [];
  let diff: GenerationDiff | null = null;
  try {
    if (generation > 1) diff = generationDiff(await compareGenerations(db, jobId, generation));
    const ending = { jobId, generation, attempt, state, diff };
    const wrote = (count: number): Promise<void> => noteOutputFile(db, jobId, token, count);
    if (failure === null) files = await writeOutputFiles(context, ending, wrote, lease.signal);
  } catch (error) {
    const backoff = { firstMs: FIRST_DELAY_MS, capMs: settings.finalizeRetryMaxMs };
    const delayMs = backoffMs(backoff, attempt, halfJitter(randomFraction()));
    const reason = `the output files could not be written: ${(error as Error).message}`;
    await postponeFinalize(db, { jobId, token, delayMs, reason: toStorableText(reason, 2000) });
    context.events.emit('finalize.delayed', { jobId, generation, attempt, delayMs, error });
    return false;
  } finally {
    await lease.stop();
  }
  const finished = await retryPassing(() =>
    db.transaction(
      async (tx) => {
        const row = await finishJobRow(tx, jobId, token, state, failure);
        if (row === null) return null;
        const { counts, cost, costUnit } = await insertSummary(tx, jobId, generation, state, files, diff);
        const outcome = outcomeOf(state, counts);
        await recordChange(tx, context, {
          jobId,
          ...(failure === null
            ? { kind: 'job.finished', detail: { outcome, counts, cost, costUnit } }
            : { kind: 'job.failed', detail: { outcome, counts, cost, costUnit, reason: failure } }),
        });
        await insertCallbacks(tx, jobId);
        return { ...row, outcome, counts };
      },
      () => faultPoint('finalize.before_commit'),
    ),
  );
  if (finished === null) return false;
  faultPoint('finalize.after_commit');
  if (failure !== null) context.events.emit('job.failed', { jobId, reason: failure });
  context.events.emit('job.finished', { jobId, generation, state, ...finished });
  if (attempt > 1) await deleteOtherAttempts(context, { jobId, generation, attempt });
  return true;
}

function gaveUp(jobId: string, takeovers: number): string {
  return `writing the output files crashed or stalled ${takeovers} processes in a row without completing another file (jobMaxTakeovers). Every result is stored: check the logs of these processes, then write a file with \`rowmill jobs export ${jobId}\`.`;
}
