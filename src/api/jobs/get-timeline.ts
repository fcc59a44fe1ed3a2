// GET /api/jobs/:jobId/timeline: rates of a job over time, in the requested number of points.
import type { runRoutes } from '../../contract/runs.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { timelineSteps } from '../../core/jobs/timeline-steps.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { readTimeline, type TimelineStep } from '../../store/views/jobs/read-timeline.ts';
import type { Handler } from '../requests/handler.ts';
import { boundedTimeMs } from '../requests/wire-values.ts';

const NOTHING: Omit<TimelineStep, 'atMs'> = {
  done: 0,
  error: 0,
  notFound: 0,
  skipped: 0,
  cancelled: 0,
  advanced: 0,
  retried: 0,
  handlerMs: 0,
  cost: 0,
};

export const getTimeline: Handler<typeof runRoutes.getTimeline> = async (
  { job, query },
  { reads, engine },
) => {
  const nowMs = wallClockMs();
  const beginMs = query.from ? boundedTimeMs(query.from) : job.createdAt.getTime();
  const endMs = query.to ? boundedTimeMs(query.to) : (job.finishedAt?.getTime() ?? nowMs) + 1;
  if (endMs <= beginMs) throw new RowmillError('REQUEST_INVALID', 'expected `to` to be later than `from`');
  const { fromMs, stepMs, count } = timelineSteps({
    beginMs,
    endMs,
    isOpen: query.to === undefined && job.finishedAt === null,
    unfoldedSinceMs: nowMs - engine.settings.foldAfterMs,
    points: query.points,
  });
  const toMs = fromMs + count * stepMs;
  const steps = await readTimeline(reads, job.jobId, { fromMs, toMs, stepMs });
  const byTime = new Map(steps.map((step) => [step.atMs, step]));
  const points = Array.from({ length: count }, (_, place) => {
    const atMs = fromMs + place * stepMs;
    return toPoint(byTime.get(atMs) ?? { atMs, ...NOTHING });
  });
  const from = new Date(Math.max(beginMs, fromMs)).toISOString();
  const to = new Date(Math.min(endMs, toMs)).toISOString();
  return { stepMs, from, to, costUnit: job.costUnit, points };
};

function toPoint({ atMs, handlerMs, ...step }: TimelineStep) {
  const calls = step.done + step.error + step.notFound + step.skipped + step.advanced + step.retried;
  return {
    at: new Date(atMs).toISOString(),
    ...step,
    handlerMs: calls > 0 ? handlerMs / calls : null,
  };
}
