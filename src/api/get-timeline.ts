// Rates of a job over time, in as few or as many points as were asked for.
import type { itemRoutes } from '../contract/items.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import { wallClockMs } from '../platform/clock.ts';
import { readTimeline, type TimelineStep } from '../store/views/read-timeline.ts';
import type { Handler } from './handler.ts';
import { boundedTimeMs } from './wire-values.ts';

/** The ledger is folded into minutes: nothing finer stays. */
const MINUTE_MS = 60_000;

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

export const getTimeline: Handler<typeof itemRoutes.getTimeline> = async ({ job, query }, { reads }) => {
  const begin = query.from ? boundedTimeMs(query.from) : job.createdAt.getTime();
  const end = query.to ? boundedTimeMs(query.to) : (job.finishedAt?.getTime() ?? wallClockMs()) + 1;
  const fromMs = Math.floor(begin / MINUTE_MS) * MINUTE_MS;
  if (end <= fromMs) throw new RowmillError('REQUEST_INVALID', 'expected `to` to be later than `from`');
  const minutes = Math.ceil((end - fromMs) / MINUTE_MS);
  const stepMs = Math.ceil(minutes / query.points) * MINUTE_MS;
  const toMs = fromMs + Math.ceil((minutes * MINUTE_MS) / stepMs) * stepMs;
  const steps = await readTimeline(reads, job.jobId, { fromMs, toMs, stepMs });
  const byTime = new Map(steps.map((step) => [step.atMs, step]));
  const count = (toMs - fromMs) / stepMs;
  const points = Array.from({ length: count }, (_, place) => {
    const atMs = fromMs + place * stepMs;
    return toPoint(byTime.get(atMs) ?? { atMs, ...NOTHING });
  });
  return { stepMs, points };
};

function toPoint({ atMs, handlerMs, ...step }: TimelineStep) {
  const calls = step.done + step.error + step.notFound + step.skipped + step.advanced + step.retried;
  return {
    at: new Date(atMs).toISOString(),
    ...step,
    handlerMs: calls > 0 ? handlerMs / calls : null,
  };
}
