// POST /api/jobs/:jobId/slice: runs the job for a limited time inside the request, whether or not workers run.
import type { controlRoutes } from '../../contract/control.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { recordAudit } from '../../engine/record-audit.ts';
import { runSlice } from '../../worker/process/run-slice.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import type { Handler } from '../requests/handler.ts';

export const sliceJob: Handler<typeof controlRoutes.sliceJob> = async (request, context) => {
  const { job, query, signal } = request;
  const { slicesAtOnce, sliceMaxMs } = context.engine.settings;
  if (query.durationMs > sliceMaxMs)
    throw new RowmillError(
      'SLICE_INVALID',
      `expected durationMs to be at most ${sliceMaxMs} (sliceMaxMs), got ${query.durationMs}`,
    );
  // Limited across all callers, because handlers run in this process.
  const release = context.slots.slices.take('', slicesAtOnce);
  if (!release)
    throw new RetryLaterError(
      'TOO_MANY_SLICES',
      `expected at most ${slicesAtOnce} time slices at once in this server (slicesAtOnce)`,
      query.durationMs,
    );
  try {
    await recordAudit(context.engine.db, request.engine, {
      action: 'job.slice',
      subject: `job ${job.jobId}`,
      detail: query,
    });
    const { pipelines, slices, log } = context;
    return {
      ...(await runSlice(slices, job.jobId, query.durationMs, { pipelines: [...pipelines], signal, log })),
    };
  } finally {
    release();
  }
};
