export type { LogEntry } from './captured-log.ts';
export type { CountedEntry } from './counted-entries.ts';
export type { Fault, FaultEffect } from './fault.ts';
export {
  describeRun,
  type HistoryEntry,
  type PipelineRun,
  retryWaits,
  type RowResult,
  rowsWith,
  type RunErrorGroup,
} from './pipeline-run.ts';
export { runPipeline, type RunPipelineOptions } from './run-pipeline.ts';
export { type RunOnDatabaseOptions, runPipelineOnDatabase } from './run-pipeline-on-database.ts';
export { VirtualClock } from './virtual-clock.ts';
