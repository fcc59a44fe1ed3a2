// GET /api/overview: what runs, what needs a person, the work of today and the health of services.
import type { overviewRoutes } from '../../contract/overview.ts';
import { refusalOf } from '../../contract/permission.ts';
import { webhookRoutes } from '../../contract/webhooks.ts';
import { JOB_NEEDS, type JobNeed } from '../../core/jobs/job-need.ts';
import { FINISHED_STATES, JOB_STATES } from '../../core/jobs/job-state.ts';
import { resourceStatus } from '../../core/limits/resource-status.ts';
import { controlOptions } from '../../engine/limits/sync-resources.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { listFailingWebhooks } from '../../store/views/events/read-webhooks.ts';
import { countJobNeeds } from '../../store/views/jobs/job-needs.ts';
import { jobsPage } from '../../store/views/jobs/jobs-page.ts';
import { listWorkers } from '../../store/views/jobs/list-workers.ts';
import { readLiveProgress } from '../../store/views/jobs/read-live-progress.ts';
import { listResources } from '../../store/views/limits/list-resources.ts';
import type { ApiContext } from '../api-context.ts';
import { listedJobs } from '../jobs/show-job.ts';
import { progressTimes, showLiveProgress } from '../jobs/show-live-progress.ts';
import { listedFor, seenBy } from '../requests/actor.ts';
import type { Handler } from '../requests/handler.ts';
import { usageToday } from './usage-today.ts';

const RUNNING_SHOWN = 10;
const LISTED_MAX = 1000;
const WEBHOOKS_SHOWN = 20;
const ACTIVE = JOB_STATES.filter((state) => state !== 'PAUSED' && !FINISHED_STATES.includes(state));

export const getOverview: Handler<typeof overviewRoutes.getOverview> = async (
  { actor, query, engine },
  context,
) => {
  const { reads } = context;
  const owners = listedFor(actor, query.all);
  const times = progressTimes(engine.settings);
  const seesWebhooks = refusalOf(actor, webhookRoutes.listWebhooks) === null;
  const startedMs = monotonicMs();
  const counted = await countJobNeeds(reads, owners, JOB_NEEDS, times.silentMs);
  const databaseMs = Math.round(monotonicMs() - startedMs);
  const [running, today, resources, workers, failingWebhooks] = await Promise.all([
    runningJobs(context, owners),
    usageToday(reads, owners),
    listResources(reads, null, LISTED_MAX, seenBy(actor)),
    listWorkers(reads, times.silentMs, LISTED_MAX),
    seesWebhooks ? listFailingWebhooks(reads, owners, WEBHOOKS_SHOWN) : [],
  ]);
  const needs = Object.fromEntries(JOB_NEEDS.map((need) => [need, 0])) as Record<JobNeed, number>;
  for (const { need, jobs } of counted) needs[need] = jobs;
  const options = controlOptions(engine.settings);
  const pools = workers.filter(({ alive }) => alive).flatMap((worker) => worker.pools);
  const slotsBusy = pools.reduce((total, { busy }) => total + busy, 0);
  return {
    running,
    needs,
    stoppedResources: resources
      .map((stored) => resourceStatus(stored, options))
      .flatMap(({ name, key, state, stopped }) =>
        stopped === null ? [] : [{ name, key, state, reason: stopped.reason }],
      ),
    failingWebhooks,
    today,
    services: {
      workersOnline: workers.filter(({ alive }) => alive).length,
      slotsBusy,
      slots: pools.reduce((total, { idle }) => total + idle, slotsBusy),
      resources: resources.length,
      databaseMs,
    },
  };
};

/** The newest active jobs, with the estimate that each of them shows. */
async function runningJobs({ reads, engine: { settings } }: ApiContext, owners: readonly string[] | null) {
  const times = progressTimes(settings);
  const rows = await jobsPage(reads, {
    ...{ owners, states: ACTIVE, pipeline: null, search: null, needs: null, after: null },
    ...{ silentMs: times.silentMs, limit: RUNNING_SHOWN },
  });
  const jobIds = rows.map(({ jobId }) => jobId);
  const [toListed, live] = await Promise.all([
    listedJobs({ db: reads, settings }, rows),
    readLiveProgress(reads, { jobIds, open: { owners: [], limit: 0 }, ...times }),
  ]);
  const byJob = new Map(live.map((each) => [each.jobId, showLiveProgress(each)]));
  return rows.flatMap((row) => {
    const progress = byJob.get(row.jobId);
    // Deleted since.
    if (!progress) return [];
    const { state, generation, itemCount, counts, perSecond, rateWindowMs, cost, eta, etaUnknownBecause } =
      progress;
    const current = { state, generation, itemCount, counts, perSecond, rateWindowMs, cost };
    return [{ ...toListed(row), ...current, eta, etaUnknownBecause }];
  });
}
