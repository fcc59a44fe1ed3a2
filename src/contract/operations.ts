// Pipelines, sources, resources, owners and workers, for operators. Health checks for machines.
import { z } from 'zod';
import { MAX_OWNER_BUDGET, MAX_OWNER_LIMIT, MAX_OWNER_WEIGHT } from '../core/limits/owner-limits.ts';
import { defineRoutes } from './route.ts';
import {
  flag,
  json,
  jsonObject,
  keepDays,
  listOf,
  name,
  ownerId,
  page,
  pageOf,
  shortPage,
  time,
} from './values.ts';

const operate = { method: 'GET', access: 'viewer', scope: 'read' } as const;
const admin = { access: 'admin', scope: 'admin' } as const;

export const pipeline = z
  .object({
    name: z.string(),
    version: z.string().nullable(),
    phases: z.array(
      z.object({
        name: z.string(),
        /** Null, as is the time limit, for the default. */
        concurrency: z.number().nullable(),
        timeoutMs: z.number().nullable(),
        priority: z.number(),
        /** Names of the resources that each call needs. */
        resources: z.array(z.string()),
      }),
    ),
    /** JSON Schema of a row; null if any row is accepted or the schema cannot be shown. */
    input: jsonObject.nullable(),
    /** JSON Schema of the job parameters. */
    params: jsonObject.nullable(),
    key: z.array(z.string()),
    summary: z.array(z.string()),
    outputs: z.array(z.string()).nullable(),
    resources: z.array(z.string()),
    /** Calls have a cost, so a budget can be set. */
    paid: z.boolean(),
    /** Days that finished jobs are kept, 0 for ever; null: the owner or the setting decides. */
    keepDays: z.number().nullable(),
    /** Unit of its costs: a currency code, `tokens` or another word; null if it declares none. */
    costUnit: z.string().nullable(),
  })
  .meta({ id: 'Pipeline' });

export const listedResource = z
  .looseObject({
    name: z.string(),
    key: z.string(),
    limits: z.looseObject({}).nullable(),
    override: z.looseObject({}),
    inUse: z.number(),
    held: z.number(),
    wanted: z.number(),
    workers: z.number(),
    share: z.number(),
    concurrencyNow: z.number().nullable(),
    rateNow: z.number().nullable(),
    state: z.enum(['closed', 'open', 'probing', 'paused', 'unused']),
    stopped: z.object({ reason: z.string(), forMs: z.number().nullable() }).nullable(),
    /** Values of the slowest worker that uses the resource; older servers leave it out. */
    slowness: z.object({ syncMs: z.number(), lateMs: z.number() }).nullable().optional(),
    idleMs: z.number().nullable(),
  })
  .meta({ id: 'Resource' });

const resourceKey = z
  .string()
  .max(500)
  .regex(/^[^\0]*$/, 'expected no NUL character');

const override = z.strictObject({
  ratePerSecond: z.number().positive().max(1e9).nullable().optional(),
  concurrency: z.number().int().min(1).max(1e9).nullable().optional(),
  minDelayMs: z.number().min(0).max(86_400_000).nullable().optional(),
  adaptive: z.boolean().nullable().optional(),
  paused: z.boolean().nullable().optional(),
});

export const worker = z
  .object({
    workerId: z.string(),
    name: z.string(),
    version: z.string(),
    pipelines: z.array(z.string()),
    startedAt: time,
    heartbeatAt: time,
    /** Its last heartbeat is recent. */
    alive: z.boolean(),
    leasedItems: z.number(),
    /** Slot pools as of the last heartbeat. */
    pools: z.array(
      z.object({
        pipeline: z.string(),
        phase: z.string(),
        /** Slots without a call, and slots with one. */
        idle: z.number(),
        busy: z.number(),
        /** Aborted calls that have not returned; each has been replaced by a fresh slot. */
        error: z.number(),
        /** Rows queued on the worker that have not started. */
        queued: z.number(),
        /** Queued rows that wait for a resource, not for a slot. */
        waiting: z.number(),
      }),
    ),
    /** Share of its capacity that the worker uses, and why. */
    pressure: z.object({ share: z.number(), reason: z.string() }).nullable(),
    /** Memory of the process at its last heartbeat; null before the first one. */
    memoryBytes: z.number().nullable(),
  })
  .meta({ id: 'Worker' });

export const workerDetail = worker
  .extend({
    /** Pipelines it runs; the version is null if a pipeline has none. */
    abilities: z.array(z.object({ pipeline: z.string(), version: z.string().nullable() })),
    /** Leases on jobs that the caller can see, the first to expire first; at most 100. */
    leases: z.array(
      z.object({
        jobId: z.string(),
        jobName: z.string(),
        phase: z.string(),
        rows: z.number(),
        expiresAt: time,
      }),
    ),
    /** Rows of open jobs that finished or moved to their next phase within the last minute. */
    rowsLastMinute: z.number(),
    /** Last time it stored outcomes of an open job; null if not within two minutes. */
    lastFlushAt: time.nullable(),
  })
  .meta({ id: 'WorkerDetail' });

export const owner = z
  .object({
    ownerId: z.string(),
    weight: z.number(),
    maxRunningJobs: z.number().nullable(),
    maxInFlight: z.number().nullable(),
    /** Maximum cost of the owner's jobs, ever and per UTC day; older servers leave them out. */
    budgetTotal: z.number().nullable().optional(),
    budgetPerDay: z.number().nullable().optional(),
    /** Days that finished jobs are kept, 0 for ever; null: the pipeline or the setting decides. */
    keepDays: z.number().nullable().optional(),
    openJobs: z.number(),
    /** Open jobs that have started and are not paused, and rows that no worker has; older servers leave them out. */
    runningJobs: z.number().optional(),
    itemsWaiting: z.number().optional(),
    itemsInFlight: z.number(),
  })
  .meta({ id: 'Owner' });

/** The values that were changed, and those stored with them. */
const ownerChange = z.looseObject({
  weight: z.number().optional(),
  maxRunningJobs: z.number().nullable().optional(),
  maxInFlight: z.number().nullable().optional(),
  keepDays: z.number().nullable().optional(),
  budgetTotal: z.number().nullable().optional(),
  budgetPerDay: z.number().nullable().optional(),
});

export const auditEntry = z
  .object({
    auditId: z.number(),
    at: time,
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    detail: json,
    requestId: z.string().nullable(),
    address: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' });

const scanReport = z.object({
  source: z.string(),
  found: z.number(),
  jobs: z.array(z.object({ jobId: z.string(), path: z.string() })),
  waiting: z.number(),
  failed: z.array(z.object({ path: z.string(), error: z.string() })),
});

export const operationRoutes = defineRoutes({
  listPipelines: {
    ...operate,
    path: '/api/pipelines',
    summary: 'Pipelines that jobs can be created for, with their phases and the schema of their rows.',
    query: z.strictObject(shortPage),
    pagedBy: ['name', 'version'],
    answer: { status: 200, schema: pageOf(pipeline) },
    errors: ['CURSOR_INVALID'],
  },
  listSources: {
    ...operate,
    access: 'member',
    path: '/api/sources',
    summary: 'Configured file sources.',
    query: z.strictObject(shortPage),
    pagedBy: ['name'],
    answer: {
      status: 200,
      schema: pageOf(z.object({ name: z.string(), kind: z.string(), pipeline: z.string() })),
    },
    errors: ['CURSOR_INVALID'],
  },
  scanSources: {
    method: 'POST',
    ...admin,
    path: '/api/ingestion/scan',
    summary: 'Create jobs from new files of the configured sources now.',
    query: z.strictObject({ sources: listOf(name).optional() }),
    answer: { status: 200, schema: z.object({ items: z.array(scanReport) }) },
    errors: ['SOURCE_NOT_FOUND', 'SOURCE_UNAVAILABLE', 'PIPELINE_NOT_FOUND'],
  },
  listResources: {
    ...operate,
    path: '/api/resources',
    summary: 'Rate-limited resources and their current use.',
    query: z.strictObject({ name: name.optional(), ...shortPage, limit: shortPage.limit.default(100) }),
    pagedBy: ['name', 'key'],
    answer: { status: 200, schema: pageOf(listedResource) },
    errors: ['CURSOR_INVALID'],
  },
  getResourceHistory: {
    ...operate,
    path: '/api/resources/:name/history',
    summary: 'Limits and use of a resource over the last day, sampled by running workers.',
    params: z.object({ name }),
    query: z.strictObject({
      key: resourceKey.optional(),
      from: time.optional(),
      to: time.optional(),
      /** Maximum number of points; samples are merged to fit. */
      points: z.coerce.number().int().min(1).max(2000).default(240),
    }),
    answer: {
      status: 200,
      schema: z.object({
        stepMs: z.number(),
        /** Periods without use have no points. */
        points: z.array(
          z.object({
            at: time,
            /** The last value in the step; null for no limit. */
            concurrency: z.number().nullable(),
            rate: z.number().nullable(),
            /** The maximum of the samples. */
            inUse: z.number(),
            /** Calls finished, and how many of them were throttled. */
            calls: z.number(),
            throttled: z.number(),
          }),
        ),
      }),
    },
  },
  changeResource: {
    method: 'PATCH',
    ...admin,
    path: '/api/resources/:name',
    summary: 'Override the limits of a resource while jobs run; null removes an override.',
    params: z.object({ name }),
    body: override.extend({
      key: resourceKey.optional(),
    }),
    answer: { status: 200, schema: z.object({ override: z.looseObject({}) }) },
    errors: ['RESOURCE_INVALID'],
  },
  listOwners: {
    ...operate,
    ...admin,
    path: '/api/owners',
    summary: 'Job owners, with their weights and limits.',
    query: z.strictObject(shortPage),
    pagedBy: ['ownerId'],
    answer: { status: 200, schema: pageOf(owner) },
    errors: ['CURSOR_INVALID'],
  },
  changeOwner: {
    method: 'PATCH',
    ...admin,
    path: '/api/owners/:ownerId',
    summary: 'Change the weight, limits, budgets and retention of an owner; null removes one.',
    params: z.object({ ownerId }),
    body: z.strictObject({
      weight: z.number().int().min(1).max(MAX_OWNER_WEIGHT).optional(),
      maxRunningJobs: z.number().int().min(1).max(MAX_OWNER_LIMIT).nullable().optional(),
      maxInFlight: z.number().int().min(1).max(MAX_OWNER_LIMIT).nullable().optional(),
      keepDays: keepDays.nullable().optional(),
      budgetTotal: z.number().min(0).max(MAX_OWNER_BUDGET).nullable().optional(),
      budgetPerDay: z.number().min(0).max(MAX_OWNER_BUDGET).nullable().optional(),
    }),
    answer: { status: 200, schema: ownerChange },
    errors: ['OWNER_INVALID', 'BUDGET_INVALID'],
  },
  listWorkers: {
    ...operate,
    path: '/api/workers',
    summary: 'Worker processes: pools, versions, heartbeats.',
    query: z.strictObject(shortPage),
    pagedBy: ['workerId'],
    answer: { status: 200, schema: pageOf(worker) },
    errors: ['CURSOR_INVALID'],
  },
  getWorker: {
    ...operate,
    path: '/api/workers/:workerId',
    summary: 'One worker: pipelines, pools, leases and throughput.',
    params: z.object({ workerId: z.uuid() }),
    answer: { status: 200, schema: workerDetail },
    errors: ['WORKER_NOT_FOUND'],
  },
  getStats: {
    ...operate,
    path: '/api/stats',
    summary: "Statistics over the caller's jobs.",
    query: z.strictObject({ all: flag.optional() }),
    answer: {
      status: 200,
      schema: z.object({
        jobs: z.record(z.string(), z.number()),
        pending: z.number(),
        processing: z.number(),
        endedLastMinute: z.number(),
        failedLastMinute: z.number(),
        /** Cost since midnight UTC, one amount per unit. */
        costsToday: z.array(z.object({ costUnit: z.string().nullable(), cost: z.number() })),
        workersAlive: z.number(),
      }),
    },
    errors: ['FORBIDDEN'],
  },
  getConfiguration: {
    ...operate,
    path: '/api/configuration',
    summary: 'Version, features and limits of this server.',
    answer: {
      status: 200,
      schema: z.object({
        version: z.string(),
        authentication: z.enum(['password', 'none']),
        features: z.record(z.string(), z.boolean()),
        limits: z.record(z.string(), z.number()),
        /** Names of sample files, of `rowmill dev`; older servers leave them out. */
        samples: z.array(z.string()).optional(),
        /** Reloads of `rowmill dev`, and why the last one failed; other servers leave it out. */
        reload: z
          .object({
            count: z.number(),
            error: z.object({ message: z.string(), hint: z.string() }).nullable(),
          })
          .optional(),
      }),
    },
  },
  getSample: {
    ...operate,
    access: 'member',
    path: '/api/samples/:name',
    summary: 'A sample file of the project, for a first job.',
    params: z.object({ name: z.string().min(1).max(300) }),
    answer: { status: 200, schema: null, type: 'bytes' },
    errors: ['FILE_NOT_FOUND'],
  },
  listAudit: {
    ...operate,
    ...admin,
    path: '/api/audit',
    summary: 'Audit log, newest first.',
    query: z.strictObject({
      subject: z.string().max(300).optional(),
      actor: z.string().max(300).optional(),
      ...page,
    }),
    answer: { status: 200, schema: pageOf(auditEntry) },
    errors: ['CURSOR_INVALID'],
  },
  getHealth: {
    ...operate,
    access: 'open',
    path: '/healthz',
    summary: 'Liveness: the process responds.',
    answer: { status: 200, schema: z.object({ ok: z.literal(true) }) },
  },
  getReadiness: {
    ...operate,
    access: 'open',
    path: '/readyz',
    summary: 'Readiness: the database responds and has the schema of this version.',
    answer: { status: 200, schema: z.object({ ok: z.literal(true) }) },
    errors: ['DATABASE_NOT_MIGRATED', 'DATABASE_NEWER', 'MIGRATION_CHANGED'],
  },
  getMetrics: {
    ...operate,
    ...admin,
    path: '/metrics',
    summary: 'Metrics for Prometheus.',
    answer: { status: 200, schema: null, type: 'text' },
  },
  getOpenApi: {
    ...operate,
    access: 'open',
    path: '/api/openapi.json',
    summary: 'This API as an OpenAPI document.',
    answer: { status: 200, schema: z.looseObject({ openapi: z.string() }) },
  },
});
