// Counters: rollups that handlers feed. Scopes and entities are free text, slashes and dots among it, and stand in the query:
// programs that send or pass on requests change such texts in a path ("..", "%2F").
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { flag, page, pageOf, shortPage, time } from './values.ts';

/** By name of the measure; each one of the counter is there. */
const measured = z.record(z.string(), z.number());

export const counter = z
  .object({
    name: z.string(),
    /** What a scope is called: project. */
    scope: z.string(),
    /** What an entity is called: document. */
    entity: z.string(),
    measures: z.array(z.string()),
    /** One set of numbers for all owners: its rows have the owner `*`. */
    shared: z.boolean(),
    createdAt: time,
    /** Over all scopes of the owners that are shown. */
    total: measured,
    /** When something in it last changed; null while there is nothing. */
    updatedAt: time.nullable(),
  })
  .meta({ id: 'Counter' });
export type Counter = z.infer<typeof counter>;

/** Of one owner: two owners that count the same name have a row each. */
export const counterRow = z
  .object({ name: z.string(), ownerId: z.string(), measured, updatedAt: time })
  .meta({ id: 'CounterRow' });
export type CounterRow = z.infer<typeof counterRow>;

export const counterValue = z
  .object({
    scope: z.string().nullable(),
    entity: z.string().nullable(),
    /** Over the owners below. */
    measured,
    updatedAt: time,
    owners: z.array(z.object({ ownerId: z.string(), measured, updatedAt: time })),
  })
  .meta({ id: 'CounterValue' });

const params = z.object({ counter: z.string().min(1).max(100) });
const scope = z.string().min(1).max(500).optional();
const entity = z.string().min(1).max(1000).optional();
const all = flag.optional();
const list = {
  /** What names begin with. */
  prefix: z.string().min(1).max(1000).optional(),
  /** A measure; without it rows stand in the order of their names. */
  sortBy: z.string().min(1).max(100).optional(),
  /** Of the measure. */
  order: z.enum(['asc', 'desc']).default('desc'),
  all,
  ...page,
};
const read = { method: 'GET', access: 'viewer', scope: 'read' } as const;

export const counterRoutes = defineRoutes({
  listCounters: {
    ...read,
    path: '/api/counters',
    summary: "Counters with the totals of the caller's part of them.",
    query: z.strictObject({ all, ...shortPage }),
    pagedBy: ['name'],
    answer: { status: 200, schema: pageOf(counter) },
    errors: ['FORBIDDEN', 'CURSOR_INVALID'],
  },
  getCounter: {
    ...read,
    path: '/api/counters/:counter',
    summary: 'One counter with its totals.',
    params,
    query: z.strictObject({ all }),
    answer: { status: 200, schema: counter },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND'],
  },
  listCounterEntities: {
    ...read,
    path: '/api/counters/:counter/entities',
    summary: 'Entities over all scopes, or with what they have in one scope.',
    params,
    query: z.strictObject({ scope, ...list }),
    answer: { status: 200, schema: pageOf(counterRow) },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND', 'COUNTER_INVALID', 'CURSOR_INVALID'],
  },
  listCounterScopes: {
    ...read,
    path: '/api/counters/:counter/scopes',
    summary: 'Scopes over all entities, or with what they have of one entity.',
    params,
    query: z.strictObject({ entity, ...list }),
    answer: { status: 200, schema: pageOf(counterRow) },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND', 'COUNTER_INVALID', 'CURSOR_INVALID'],
  },
  getCounterValue: {
    ...read,
    path: '/api/counters/:counter/value',
    summary: 'What an entity has, a scope has, or an entity in a scope.',
    params,
    query: z.strictObject({ scope, entity, all }),
    answer: { status: 200, schema: counterValue },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND', 'COUNTER_INVALID'],
  },
});
