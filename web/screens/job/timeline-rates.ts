// Converts a timeline to rates. Each step is divided by the time it covers, so the first and last step, cut off by
// start and end of the job, do not look slow.
import type { z } from 'zod';
import type { Routes } from '../../../src/contract/routes.ts';

export type Timeline = z.infer<Routes['getTimeline']['answer']['schema']>;

export interface TimelineRates {
  /** Start of each step in seconds since 1970, and the end of the last step. */
  times: number[];
  ended: number[];
  failed: number[];
  /** Average call duration. Null: no calls. */
  handlerMs: (number | null)[];
}

const LEAST_MS = 1000;

export function timelineRates({ stepMs, from, to, points }: Timeline): TimelineRates {
  const fromMs = Date.parse(from);
  const toMs = Date.parse(to);
  const steps = points.map((point) => {
    const atMs = Date.parse(point.at);
    const beginMs = Math.max(atMs, fromMs);
    const seconds = Math.max(LEAST_MS, Math.min(atMs + stepMs, toMs) - beginMs) / 1000;
    return {
      time: beginMs / 1000,
      ended: (point.done + point.error + point.notFound + point.skipped) / seconds,
      failed: point.error / seconds,
      handlerMs: point.handlerMs,
    };
  });
  const last = steps.at(-1);
  // A step is drawn up to the next time.
  if (last) steps.push({ ...last, time: Math.max(toMs / 1000, last.time + 1) });
  return {
    times: steps.map(({ time }) => time),
    ended: steps.map(({ ended }) => ended),
    failed: steps.map(({ failed }) => failed),
    handlerMs: steps.map(({ handlerMs }) => handlerMs),
  };
}
