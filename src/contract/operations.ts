// What runs, what it may use, who shares it: for those who operate it. Health for machines.
import { z } from 'zod';
import { MAX_OWNER_LIMIT, MAX_OWNER_WEIGHT } from '../core/limits/owner-limits.ts';
import { defineRoutes } from './route.ts';
import { flag, json, jsonObject, listOf, name, ownerId, page, pageOf, shortPage, time } from './values.ts';

const operate = { method: 'GET', access: 'viewer', scope: 'read' } as const;
const admin = { access: 'admin', scope: 'admin' } as const;

export const pipeline = z
  .object({
    name: z.string(),
    version: z.string().nullable(),
    phases: z.array(z.object({ name: z.string(), concurrency: z.number().nullable(), priority: z.number() })),
    /** JSON Schema of a row; null: anything, or the schema cannot be shown. */
    input: jsonObject.nullable(),
    /** JSON Schema of the parameters of a job. */
    params: jsonObject.nullable(),
    key: z.array(z.string()),
    summary: z.array(z.string()),
    outputs: z.array(z.string()).nullable(),
    resources: z.array(z.string()),
    /** Calls cost something: a budget can be given. */
    paid: z.boolean(),
  })
  .meta({ id: 'Pipeline' });

export const resource = z
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
    /** Of the slowest worker that uses it; left out by older servers. */
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
    /** Heard of lately. */
    alive: z.boolean(),
    leasedItems: z.number(),
    /** Pools of slots as of the last heartbeat. */
    pools: z.array(
      z.object({
        pipeline: z.string(),
        phase: z.string(),
        /** Slots without a call, and with one. */
        idle: z.number(),
        busy: z.number(),
        /** Calls that were stopped and have not returned; another slot stands in for each. */
        error: z.number(),
        /** Rows that the worker holds and that have not started. */
        queued: z.number(),
        /** Those of the queued ones that wait for a resource, not for a slot. */
        waiting: z.number(),
      }),
    ),
    /** What it takes on of what it could, and why. */
    pressure: z.object({ share: z.number(), reason: z.string() }).nullable(),
  })
  .meta({ id: 'Worker' });

export const owner = z
  .object({
    ownerId: z.string(),
    weight: z.number(),
    maxRunningJobs: z.number().nullable(),
    maxInFlight: z.number().nullable(),
    openJobs: z.number(),
    itemsInFlight: z.number(),
  })
  .meta({ id: 'Owner' });

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
    summary: 'Pipelines that jobs can be made for, with the schema of their rows and their phases.',
    query: z.strictObject(shortPage),
    pagedBy: ['name', 'version'],
    answer: { status: 200, schema: pageOf(pipeline) },
    errors: ['CURSOR_INVALID'],
  },
  listSources: {
    ...operate,
    access: 'member',
    path: '/api/sources',
    summary: 'Configured sources of files.',
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
    summary: 'Turn new files of the configured sources into jobs now.',
    query: z.strictObject({ sources: listOf(name).optional() }),
    answer: { status: 200, schema: z.object({ items: z.array(scanReport) }) },
    errors: ['SOURCE_NOT_FOUND', 'SOURCE_UNAVAILABLE', 'PIPELINE_NOT_FOUND'],
  },
  listResources: {
    ...operate,
    path: '/api/resources',
    summary: 'Services with limits, and what of them is used.',
    query: z.strictObject({ name: name.optional(), ...shortPage, limit: shortPage.limit.default(100) }),
    pagedBy: ['name', 'key'],
    answer: { status: 200, schema: pageOf(resource) },
    errors: ['CURSOR_INVALID'],
  },
  getResourceHistory: {
    ...operate,
    path: '/api/resources/:name/history',
    summary: 'What of a service was in force and used over the last day, from samples of running workers.',
    params: z.object({ name }),
    query: z.strictObject({
      key: resourceKey.optional(),
      from: time.optional(),
      to: time.optional(),
      /** Samples are put together so that there are at most so many points. */
      points: z.coerce.number().int().min(1).max(2000).default(240),
    }),
    answer: {
      status: 200,
      schema: z.object({
        stepMs: z.number(),
        /** Stretches in which nobody used it have none. */
        points: z.array(
          z.object({
            at: time,
            /** The last in the step; null: no limit. */
            concurrency: z.number().nullable(),
            rate: z.number().nullable(),
            /** The most of the samples. */
            inUse: z.number(),
            /** Calls that ended, and those of them that were refused for their number. */
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
    summary: 'Change what a service may be used for while things run; null takes a change back.',
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
    summary: 'Owners of jobs, their weights and limits.',
    query: z.strictObject(shortPage),
    pagedBy: ['ownerId'],
    answer: { status: 200, schema: pageOf(owner) },
    errors: ['CURSOR_INVALID'],
  },
  changeOwner: {
    method: 'PATCH',
    ...admin,
    path: '/api/owners/:ownerId',
    summary: 'Change what an owner may have of the workers; null takes a limit away.',
    params: z.object({ ownerId }),
    body: z.strictObject({
      weight: z.number().int().min(1).max(MAX_OWNER_WEIGHT).optional(),
      maxRunningJobs: z.number().int().min(1).max(MAX_OWNER_LIMIT).nullable().optional(),
      maxInFlight: z.number().int().min(1).max(MAX_OWNER_LIMIT).nullable().optional(),
    }),
    answer: { status: 200, schema: z.looseObject({ weight: z.number() }) },
    errors: ['OWNER_INVALID'],
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
  getStats: {
    ...operate,
    path: '/api/stats',
    summary: "Numbers over the caller's jobs.",
    query: z.strictObject({ all: flag.optional() }),
    answer: {
      status: 200,
      schema: z.object({
        jobs: z.record(z.string(), z.number()),
        pending: z.number(),
        processing: z.number(),
        endedLastMinute: z.number(),
        failedLastMinute: z.number(),
        costToday: z.number(),
        workersAlive: z.number(),
      }),
    },
    errors: ['FORBIDDEN'],
  },
  getConfiguration: {
    ...operate,
    path: '/api/configuration',
    summary: 'What a client has to know about this server: version, features, limits.',
    answer: {
      status: 200,
      schema: z.object({
        version: z.string(),
        authentication: z.enum(['password', 'none']),
        features: z.record(z.string(), z.boolean()),
        limits: z.record(z.string(), z.number()),
      }),
    },
  },
  listAudit: {
    ...operate,
    ...admin,
    path: '/api/audit',
    summary: 'Who changed what, newest first.',
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
    summary: 'The process answers.',
    answer: { status: 200, schema: z.object({ ok: z.literal(true) }) },
  },
  getReadiness: {
    ...operate,
    access: 'open',
    path: '/readyz',
    summary: 'The database answers and has the schema of this version.',
    answer: { status: 200, schema: z.object({ ok: z.literal(true) }) },
    errors: ['DATABASE_NOT_MIGRATED', 'DATABASE_NEWER', 'MIGRATION_CHANGED'],
  },
  getMetrics: {
    ...operate,
    ...admin,
    path: '/metrics',
    summary: 'Numbers for Prometheus.',
    answer: { status: 200, schema: null, type: 'text' },
  },
  getOpenApi: {
    ...operate,
    access: 'open',
    path: '/api/openapi.json',
    summary: 'This list as an OpenAPI document.',
    answer: { status: 200, schema: z.looseObject({ openapi: z.string() }) },
  },
});
