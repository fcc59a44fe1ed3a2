// The public interface uses Node types, so it references them whatever `types` a project sets.
export type { JobBudget } from './core/limits/budget.ts';
export {
  type Counter,
  type CounterKey,
  type CountMode,
  defineCounter,
} from './core/items/counter.ts';
export type { FailedItem } from './core/items/failed-item.ts';
export type { ResultRow } from './core/files/export-row.ts';
export { fail, notFound, retryLater, skip } from './core/items/outcome.ts';
export type { DeclaredLimits, ResourceOverride } from './core/limits/resource-limits.ts';
export type { ResourceStatus } from './core/limits/resource-status.ts';
export type { RetryRule } from './core/retries/retry-policy.ts';
export { type HttpError, httpError } from './core/errors/http-error.ts';
export { RowmillError } from './core/errors/rowmill-error.ts';
export type { CallbackContext, PipelineCallbacks } from './pipeline/pipeline-callbacks.ts';
export { defineConfig, type RowmillConfig } from './define-config.ts';
export type { OwnerBudget } from './engine/limits/set-budget.ts';
export {
  openRowmillOnDemand as openRowmill,
  startPostgresOnDemand as startEmbeddedPostgres,
} from './on-demand.ts';
export type { NewJobOptions, Rowmill, RowmillOptions } from './open-rowmill.ts';
export type {
  EmbeddedPostgres,
  EmbeddedPostgresOptions,
} from './platform/embedded-postgres/start-embedded-postgres.ts';
export { Events, type RowmillEvents } from './platform/events.ts';
export type { BudgetStatus } from './store/views/limits/read-budgets.ts';
export { definePipeline } from './pipeline/define-pipeline.ts';
export type { ItemFetch, ItemFetchOptions } from './pipeline/item-fetch.ts';
export type { BatchContext, BatchItem, ItemContext } from './pipeline/item-context.ts';
export { type ResourceUse, resource } from './pipeline/phase-resources.ts';
export type { Phase, Pipeline } from './pipeline/pipeline.ts';
export type { SliceOptions, SliceReport } from './worker/process/run-slice.ts';
export type { RowmillWorker, StopReport, WorkerOptions } from './worker/worker.ts';
