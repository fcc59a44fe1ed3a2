// The summary written at the end of each run of a job.
import type { OutputFile } from '../files/output-format.ts';
import type { ItemStatus } from '../items/outcome.ts';
import type { GenerationDiff } from './generation-diff.ts';
import type { JobOutcome } from './job-outcome.ts';

export interface PhaseSummary {
  phase: number;
  name: string;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
  cancelled: number;
  advanced: number;
  retried: number;
  flushes: number;
  handlerMs: number;
  bytes: number;
  cost: number;
}

export interface Summary {
  generation: number;
  /** Final state of the job. */
  state: 'DONE' | 'CANCELLED' | 'FAILED';
  /** Outcome of its rows. */
  outcome: JobOutcome;
  total: number;
  counts: Record<ItemStatus, number>;
  phases: PhaseSummary[];
  timings: Record<string, string | number | null>;
  /** Cost of all calls whose outcome counted, over all generations. */
  cost: number;
  /** Unit of these costs; null if unknown. */
  costUnit: string | null;
  /** Cost of calls that were paid but whose outcome did not count. */
  fencedCost: number;
  files: OutputFile[];
  /** Null for the first generation. */
  diff: GenerationDiff | null;
  createdAt: Date;
}
