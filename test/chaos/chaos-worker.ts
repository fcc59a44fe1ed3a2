// Starts worker-child.mjs with the options of a chaos test, and reads the events it prints.
import type { DeclaredLimits } from '../../src/core/limits/resource-limits.ts';
import type { FaultPoint } from '../../src/platform/fault-point.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { type Child, startChild } from '../support/child-process.ts';

export type ChaosHandler =
  | { kind: 'work'; minMs?: number; maxMs?: number }
  | { kind: 'hold'; from: number }
  | { kind: 'poison'; how: 'exit 1' | 'exit 0' | 'abort' }
  | { kind: 'block'; ms: number }
  /** Blocks until this file exists. */
  | { kind: 'block'; untilFile: string }
  | { kind: 'pay'; url: string }
  | { kind: 'emit'; perItem: number; keys: number }
  | { kind: 'count' }
  | { kind: 'log' }
  | { kind: 'hostile' }
  | { kind: 'fetch'; url: string };

export interface ChaosWorkerOptions {
  databaseUrl: string;
  pipeline: string;
  handler?: ChaosHandler;
  concurrency?: number;
  /** Each call needs all of them; with `isKeyed`, keyed by the host of its row. */
  resources?: Record<string, DeclaredLimits>;
  isKeyed?: boolean;
  timeoutMs?: number;
  settings?: Partial<Settings>;
  /** In the format of ROWMILL_FAULT_POINTS. */
  faultPoints?: string;
  env?: Record<string, string>;
  nodeArgs?: string[];
}

export interface ChaosIngestOptions {
  databaseUrl: string;
  jobId: string;
  from: number;
  to: number;
  seal: boolean;
  settings?: Partial<Settings>;
  faultPoints?: string;
}

/** Short leases: a dead worker is noticed within a second. */
export const CHAOS_SETTINGS = {
  lockFloorMs: 800,
  lockCapMs: 800,
  finalizeLeaseMs: 800,
  // These tests kill processes all the time, so takeovers must not fail a job.
  jobMaxTakeovers: 10_000,
  sweepMs: 100,
  pollMinMs: 20,
  pollMaxMs: 100,
  drainMs: 2000,
} satisfies Partial<Settings>;

/**
 * For workers that are not killed: a slow machine must not make them look dead, which would count as a crash of their
 * items.
 */
export const LONG_LEASES = { lockFloorMs: 60_000, lockCapMs: 60_000 } satisfies Partial<Settings>;

const SCRIPT = new URL('worker-child.mjs', import.meta.url);

export function startChaosWorker(options: ChaosWorkerOptions): Child {
  const { faultPoints, env, nodeArgs = [], settings, ...rest } = options;
  const config = {
    handler: { kind: 'work' },
    ...rest,
    task: 'work',
    settings: { ...CHAOS_SETTINGS, ...settings },
  };
  return startChild({
    script: SCRIPT,
    args: [JSON.stringify(config)],
    env: { LOG_LEVEL: 'warn', ...env, ROWMILL_FAULT_POINTS: faultPoints ?? '' },
    nodeArgs,
  });
}

export interface ChaosSlicesOptions
  extends Pick<ChaosWorkerOptions, 'databaseUrl' | 'pipeline' | 'handler' | 'concurrency' | 'settings'> {
  jobId: string;
  durationMs: number;
}

/** Starts a process that runs slices of one job until it is finished. */
export function startChaosSlices({ settings, ...rest }: ChaosSlicesOptions): Child {
  const config = {
    handler: { kind: 'work' },
    ...rest,
    task: 'slices',
    settings: { ...CHAOS_SETTINGS, ...settings },
  };
  return startChild({
    script: SCRIPT,
    args: [JSON.stringify(config)],
    env: { LOG_LEVEL: 'warn', ROWMILL_FAULT_POINTS: '' },
  });
}

export function startChaosIngest(options: ChaosIngestOptions): Child {
  const { faultPoints, ...config } = options;
  return startChild({
    script: SCRIPT,
    args: [JSON.stringify({ ...config, task: 'ingest' })],
    env: { ROWMILL_FAULT_POINTS: faultPoints ?? '' },
  });
}

/** Starts a command that acts on a job. */
export function startChaosCommand(options: {
  task: 'cancel' | 'reprocess';
  databaseUrl: string;
  jobId: string;
  faultPoints: string;
}): Child {
  const { faultPoints, ...config } = options;
  return startChild({
    script: SCRIPT,
    args: [JSON.stringify({ ...config, settings: CHAOS_SETTINGS })],
    env: { ROWMILL_FAULT_POINTS: faultPoints },
  });
}

export interface ChaosFileOptions {
  databaseUrl: string;
  pipeline: string;
  file: string;
  settings?: Partial<Settings>;
  faultPoints?: string;
}

export function startChaosFileIngest(options: ChaosFileOptions): Child {
  const { faultPoints, ...config } = options;
  return startChild({
    script: SCRIPT,
    args: [JSON.stringify({ ...config, task: 'ingest-file' })],
    env: { ROWMILL_FAULT_POINTS: faultPoints ?? '' },
  });
}

/** Fault points of reading a file. */
export const FILE_INGEST_POINTS = [
  'ingest.file_stored',
  'ingest.before_commit',
  'ingest.after_commit',
  'ingest.before_seal',
] as const satisfies FaultPoint[];

export async function workerIdOf(child: Child): Promise<string> {
  return (await child.waitFor('worker')).workerId as string;
}

/**
 * The pipeline that tests submit jobs with. Only its name and phase matter: the child processes have their own
 * handlers.
 */
export function chaosPipeline(name: string): Pipeline {
  return definePipeline({ name, phases: [{ name: 'only', run: async (input) => ({ n: input.n }) }] });
}

export function numberedItems(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

/** Calls per seq, over all the given children. */
export function callsPerSeq(...children: Child[]): Map<number, number> {
  const calls = new Map<number, number>();
  for (const child of children) {
    for (const { event, seq } of child.events) {
      if (event === 'call') calls.set(seq as number, (calls.get(seq as number) ?? 0) + 1);
    }
  }
  return calls;
}

export function countEvents(child: Child, name: string): number {
  return child.events.filter(({ event }) => event === name).length;
}
