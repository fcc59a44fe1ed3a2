export { fail, notFound, retryLater, skip } from './core/outcome.ts';
export { RowmillError } from './core/rowmill-error.ts';
export { type NewJobOptions, openRowmill, type Rowmill, type RowmillOptions } from './open-rowmill.ts';
export { Events, type RowmillEvents } from './platform/events.ts';
export { definePipeline, type Phase, type Pipeline, type RetryRule } from './worker/define-pipeline.ts';
export type { BatchContext, BatchItem, ItemContext } from './worker/item-context.ts';
export type { SliceOptions, SliceReport } from './worker/run-slice.ts';
export { RowmillWorker, type StopReport, type WorkerOptions } from './worker/worker.ts';
