// The overview of the caller's jobs, and their work and cost by day, owner and pipeline.
import { z } from 'zod';
import { JOB_NEEDS } from '../core/jobs/job-need.ts';
import { listedJob } from './jobs.ts';
import { eta } from './progress.ts';
import { defineRoutes } from './route.ts';
import { flag, listOf, name } from './values.ts';

const read = { method: 'GET', access: 'viewer', scope: 'read' } as const;

/** A day in UTC. */
const day = z.iso.date();

const usage = z
  .object({
    /** Null, as are owner and pipeline, unless `by` names it. */
    day: day.nullable(),
    ownerId: z.string().nullable(),
    pipeline: z.string().nullable(),
    /** Unit of the costs; amounts in different units are never added. */
    costUnit: z.string().nullable(),
    jobs: z.number(),
    /** Rows that finished, and of these those that succeeded and failed. A row that is rerun counts again. */
    rows: z.number(),
    done: z.number(),
    failed: z.number(),
    cost: z.number(),
    /** Cost of calls that were paid but whose outcome did not count. */
    lostCost: z.number(),
  })
  .meta({ id: 'Usage' });
export type Usage = z.infer<typeof usage>;

export const overviewRoutes = defineRoutes({
  getOverview: {
    ...read,
    path: '/api/overview',
    summary: 'What runs, what needs a person, the work of today (UTC) and the health of services.',
    query: z.strictObject({ all: flag.optional() }),
    answer: {
      status: 200,
      schema: z.object({
        /** The newest active jobs. */
        running: z.array(listedJob.extend({ eta, etaUnknownBecause: z.string().nullable() })),
        /** Number of jobs by reason, as `needs` of the list of jobs. */
        needs: z.record(z.enum(JOB_NEEDS), z.number()),
        /** Resources whose calls are stopped. */
        stoppedResources: z.array(
          z.object({ name: z.string(), key: z.string(), state: z.string(), reason: z.string() }),
        ),
        /** Webhooks with a message that failed at least once, and disabled ones; empty without the right to see them. */
        failingWebhooks: z.array(z.object({ webhookId: z.uuid(), url: z.string(), reason: z.string() })),
        today: z.object({
          day,
          jobs: z.number(),
          rows: z.number(),
          failed: z.number(),
          costs: z.array(z.object({ costUnit: z.string().nullable(), cost: z.number() })),
        }),
        services: z.object({
          workersOnline: z.number(),
          slotsBusy: z.number(),
          slots: z.number(),
          resources: z.number(),
          /** Time of a query. */
          databaseMs: z.number(),
        }),
      }),
    },
    errors: ['FORBIDDEN'],
  },
  getUsage: {
    ...read,
    path: '/api/usage',
    summary:
      'Jobs, rows and cost by day, owner and pipeline, for at most 92 days, with the budgets of owners.',
    query: z.strictObject({
      /** Default: 29 days before `to`. */
      from: day.optional(),
      /** The last day, included. Default: today. */
      to: day.optional(),
      /** Default: one sum per unit. */
      by: listOf(z.enum(['day', 'owner', 'pipeline'])).optional(),
      pipeline: name.optional(),
      all: flag.optional(),
    }),
    answer: {
      status: 200,
      schema: z.object({
        items: z.array(usage),
        /** False: there are more than 10,000 entries, and the rest is missing. */
        isComplete: z.boolean(),
        /** Budgets of owners, as plain numbers: they cover costs in any unit. `day` is that of today. */
        budgets: z.array(
          z.object({
            ownerId: z.string(),
            scope: z.enum(['owner', 'day']),
            max: z.number(),
            spent: z.number(),
            lost: z.number(),
            reserved: z.number(),
          }),
        ),
      }),
    },
    errors: ['FORBIDDEN'],
  },
});
