// Pipelines, sources, resources, owners, workers, statistics, the audit log, and health checks.
import { basename } from 'node:path';
import type { operationRoutes } from '../../contract/operations.ts';
import { PAGE_SIZE_MAX } from '../../contract/values.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { resourceStatus } from '../../core/limits/resource-status.ts';
import { overrideResource } from '../../engine/limits/override-resource.ts';
import { setBudgetOfOwner } from '../../engine/limits/set-budget.ts';
import { setOwner } from '../../engine/limits/set-owner.ts';
import { controlOptions } from '../../engine/limits/sync-resources.ts';
import { canSendMail } from '../../platform/send-mail.ts';
import { VERSION } from '../../platform/version.ts';
import { type AuditRow, auditPage } from '../../store/views/jobs/audit-page.ts';
import { checkSchema } from '../../store/views/health/check-schema.ts';
import { listOwners } from '../../store/views/limits/list-owners.ts';
import { listResources } from '../../store/views/limits/list-resources.ts';
import { listWorkers } from '../../store/views/jobs/list-workers.ts';
import { readWorker } from '../../store/views/jobs/read-worker.ts';
import { readStats } from '../../store/views/health/read-stats.ts';
import { listedFor, seenBy } from '../requests/actor.ts';
import { cutPage } from '../answers/cut-page.ts';
import { describePipeline } from '../jobs/describe-pipeline.ts';
import { sourcesFor } from '../files/find-source.ts';
import { getResourceHistory } from '../operations/get-resource-history.ts';
import { showOwner } from '../operations/show-owner.ts';
import { usageToday } from '../operations/usage-today.ts';
import { showWorker } from '../operations/show-worker.ts';
import type { Handlers } from '../requests/handler.ts';
import { openApiDocument } from '../documents/openapi.ts';
import { scanSources } from '../files/scan-sources.ts';
import { sendSample } from '../files/send-sample.ts';
import { publicPath } from '../serve-web.ts';
import { asJson } from '../requests/wire-values.ts';

const AUDIT_CURSOR = { list: 'audit', sort: 'newest', key: ['seq'] } as const satisfies CursorKind;

export const operationHandlers: Handlers<typeof operationRoutes> = {
  listPipelines: async (_request, { pipelines }) => ({ items: pipelines.map(describePipeline) }),
  listSources: async ({ actor }, { sources }) => ({
    items: sourcesFor(sources, actor).map(({ name, kind, pipeline }) => ({ name, kind, pipeline })),
  }),
  scanSources,
  listResources: async ({ actor, query, engine }) => {
    const listed = await listResources(engine.db, query.name ?? null, query.limit, seenBy(actor));
    const options = controlOptions(engine.settings);
    return {
      items: listed.map((each) => {
        const { limits, override, ...status } = resourceStatus(each, options);
        return { ...status, limits: limits && { ...limits }, override: { ...override } };
      }),
    };
  },
  getResourceHistory,
  changeResource: async ({ params, body, engine }) => {
    const { key, ...change } = body;
    const override = await overrideResource(engine, {
      name: params.name,
      change: given(change),
      actor: engine.by!.actor,
      ...(key !== undefined && { key }),
    });
    return { override: { ...override } };
  },
  listOwners: async ({ query, engine }) => ({
    items: (await listOwners(engine.db, query.limit)).map(showOwner),
  }),
  changeOwner: async ({ params, body, engine }, { notifier }) => {
    const { budgetTotal: total, budgetPerDay: perDay, ...change } = body;
    const { ownerId } = params;
    const { actor } = engine.by!;
    // First the budgets, which can be refused.
    const budget =
      total === undefined && perDay === undefined
        ? null
        : await setBudgetOfOwner(engine, ownerId, given({ total, perDay }), actor);
    const isOnlyBudget = budget !== null && Object.keys(given(change)).length === 0;
    const limits = isOnlyBudget ? {} : await setOwner(engine, ownerId, given(change), actor);
    await notifier.hint();
    return { ...limits, ...(budget && { budgetTotal: budget.total, budgetPerDay: budget.perDay }) };
  },
  listWorkers: async ({ query, engine }, { reads }) => {
    const workers = await listWorkers(reads, engine.settings.heartbeatMs * 3, query.limit);
    return { items: workers.map(showWorker) };
  },
  getWorker: async ({ actor, params: { workerId }, engine }, { reads }) => {
    const silentMs = engine.settings.heartbeatMs * 3;
    const found = await readWorker(reads, { workerId, silentMs, owners: seenBy(actor) });
    if (found === null) throw new RowmillError('WORKER_NOT_FOUND', `there is no worker ${workerId}`);
    return {
      ...showWorker(found),
      abilities: found.abilities.map(({ pipeline, version }) => ({ pipeline, version })),
      leases: found.leases.map((lease) => ({ ...lease, expiresAt: new Date(lease.expiresAt).toISOString() })),
      rowsLastMinute: found.rowsLastMinute,
      lastFlushAt: found.lastFlushAt?.toISOString() ?? null,
    };
  },
  getStats: async ({ actor, query, engine }, { reads }) => {
    const owners = listedFor(actor, query.all);
    const stats = await readStats(reads, owners, engine.settings.heartbeatMs * 3);
    return { ...stats, costsToday: (await usageToday(reads, owners)).costs };
  },
  getConfiguration: async ({ engine: { settings } }, { samples, reload }) => ({
    version: VERSION,
    authentication: settings.authentication === 'none' ? 'none' : 'password',
    features: { pendingDashboard: settings.pendingDashboard === 'on', mail: canSendMail(settings) },
    limits: {
      pageSizeMax: PAGE_SIZE_MAX,
      uploadMaxBytes: settings.uploadMaxBytes,
      bodyMaxBytes: settings.apiBodyMaxBytes,
      itemsMaxBytes: settings.apiItemsMaxBytes,
      uploadsAtOnce: settings.uploadsAtOnce,
      requestsPerSecond: settings.apiRequestsPerSecond,
      sliceMaxMs: settings.sliceMaxMs,
    },
    samples: samples.map((path) => basename(path)),
    ...(reload && { reload }),
  }),
  getSample: sendSample,
  listAudit: async ({ query }, { reads }) => {
    const after = query.cursor === undefined ? null : decodeCursor(AUDIT_CURSOR, query.cursor);
    const rows = await auditPage(reads, {
      subject: query.subject ?? null,
      actor: query.actor ?? null,
      beforeId: after?.[0] ?? null,
      limit: query.limit + 1,
    });
    return cutPage(rows, query.limit, toEntry, AUDIT_CURSOR, ({ auditId }) => [auditId]);
  },
  getHealth: async () => ({ ok: true }),
  getReadiness: async ({ engine }) => {
    await checkSchema(engine.db);
    return { ok: true };
  },
  getMetrics: (_request, { metrics }) => metrics.registry.metrics(),
  getOpenApi: async (_request, { engine }) =>
    openApiDocument(publicPath(engine.settings.apiPublicUrl)) as { openapi: string },
};

function toEntry(row: AuditRow) {
  return { ...row, at: row.at.toISOString(), detail: asJson(row.detail) };
}

/** Leaves out undefined fields. Null is a value. */
function given<T extends object>(change: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as never;
}
