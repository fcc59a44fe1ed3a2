// Progress of a job as the API, its events and the commands that read the database show it: one function of one
// statement, so that the same moment has the same numbers everywhere.
import type { ProgressEvent } from '../../contract/events.ts';
import { type EstimatedEnd, estimateEnd } from '../../core/jobs/estimate-end.ts';
import { CLAIMABLE_STATES } from '../../core/jobs/job-state.ts';
import { recentRate } from '../../core/jobs/recent-rate.ts';
import { splitUnfinished } from '../../core/jobs/unfinished-rows.ts';
import { REPORT_MS } from '../../engine/workers/report-calls.ts';
import type { Settings } from '../../platform/settings.ts';
import { type JobCounts, toCounts } from '../../store/views/jobs/job-counts.ts';
import type { LiveProgress, PhaseProgress } from '../../store/views/jobs/read-live-progress.ts';
import { timeOrNull } from '../requests/wire-values.ts';

/** Reports of workers that missed this many no longer count. */
const MISSED_REPORTS = 5;
/** Missed heartbeats after which a worker counts as gone. */
const SILENT_BEATS = 3;

export function progressTimes({ heartbeatMs }: Pick<Settings, 'heartbeatMs'>): {
  reportMs: number;
  silentMs: number;
} {
  return { reportMs: REPORT_MS * MISSED_REPORTS, silentMs: heartbeatMs * SILENT_BEATS };
}

type Summed = Exclude<keyof PhaseProgress, 'name'>;

export function sumOf(phases: readonly PhaseProgress[], key: Summed): number {
  return phases.reduce((total, phase) => total + phase[key], 0);
}

export function showLiveProgress(live: LiveProgress): ProgressEvent & { counts: JobCounts } {
  const { jobId, state, generation, itemCount, workers, phases, runningMs } = live;
  const sum = (key: Summed): number => sumOf(phases, key);
  const waiting = sum('waiting');
  const processing = sum('processing');
  const rate = recentRate(sum('endedLately'), runningMs);
  return {
    jobId,
    state,
    generation,
    itemCount,
    counts: toCounts({
      pending: waiting,
      processing,
      done: sum('done'),
      error: sum('error'),
      notFound: sum('notFound'),
      skipped: sum('skipped'),
      cancelled: sum('cancelled'),
    }),
    unfinished: {
      ...splitUnfinished(
        {
          leased: processing,
          waiting,
          retrying: sum('retrying'),
          limited: sum('limited'),
          held: sum('held'),
        },
        live.reported,
        pausedBy(live),
      ),
      reportedAt: timeOrNull(live.reportedAt),
    },
    ...rate,
    ...etaOf(live, rate.rateWindowMs),
    cost: sum('cost'),
    costUnit: live.costUnit,
    workers,
  };
}

function pausedBy({ state, pausedBecause }: LiveProgress): 'budget' | 'person' | null {
  if (state !== 'PAUSED') return null;
  return pausedBecause === null ? 'person' : 'budget';
}

function etaOf(live: LiveProgress, windowMs: number): Pick<ProgressEvent, 'eta' | 'etaUnknownBecause'> {
  const { state, sealed, phases, reported, readAt } = live;
  const unknown = (because: string | null) => ({ eta: null, etaUnknownBecause: because });
  if (state === 'PAUSED') return unknown('the job is paused');
  const left = phases.reduce((sum, { waiting, held, processing }) => sum + waiting - held + processing, 0);
  if (!CLAIMABLE_STATES.includes(state) || left === 0) return unknown(null);
  if (!live.hasWorker) return unknown('no worker runs this pipeline');
  const end = estimateEnd({
    phases: phases.map(({ waiting, held, processing, endedThisRun, ...pace }) => ({
      ...pace,
      ended: endedThisRun,
      left: waiting - held + processing,
    })),
    windowMs,
    sealed,
    oldestCallMs: reported?.oldestCallMs ?? null,
  });
  return end ? { eta: toEta(end, readAt), etaUnknownBecause: null } : unknown('too few rows finished lately');
}

/** Times in whole seconds, so that events do not differ by milliseconds. */
function toEta({ inMs, lowMs, highMs, basis }: EstimatedEnd, readAt: Date): ProgressEvent['eta'] {
  const after = (ms: number): string =>
    new Date(Math.round((readAt.getTime() + ms) / 1000) * 1000).toISOString();
  return { at: after(inMs), low: after(lowMs), high: highMs === null ? null : after(highMs), basis };
}
