// The interface uses types of Node, even if a project's `types` does not list them.
/// <reference types="node" preserve="true" />
export type { LogEntry } from './captured-log.ts';
export type { CountedEntry } from './counted-entries.ts';
export type { Fault, FaultEffect } from './fault.ts';
export {
  describeRun,
  type HistoryEntry,
  type PipelineRun,
  type RowResult,
  type RunErrorGroup,
  retryWaits,
  rowsWith,
} from './pipeline-run.ts';
export type { RowFixture } from './row-fixture.ts';
export { type RunFixtureOptions, runFixture } from './run-fixture.ts';
export { type RunPipelineOptions, runPipeline } from './run-pipeline.ts';
export { type RunOnDatabaseOptions, runPipelineOnDatabase } from './run-pipeline-on-database.ts';
export { VirtualClock } from './virtual-clock.ts';
