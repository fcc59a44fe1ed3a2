// The operations that commands need, implemented over a server and on the database. Shapes are those of the contract,
// so that both implementations print the same.
import type { z } from 'zod';
import type { Answered } from '../../client/route-call.ts';
import type { errorGroup } from '../../contract/error-groups.ts';
import type { item } from '../../contract/items.ts';
import type { comparedRow } from '../../contract/runs.ts';
import type { itemTrace } from '../../contract/traces.ts';
import type { job, summary } from '../../contract/jobs.ts';
import type { jobLogLine } from '../../contract/logs.ts';
import type { owner, worker } from '../../contract/operations.ts';
import type { Routes } from '../../contract/routes.ts';
import type { ExportFilter } from '../../core/files/export-filter.ts';
import type { CsvDelimiter, OutputFormat } from '../../core/files/output-format.ts';
import type { LineLevel } from '../../core/items/log-lines.ts';
import type { RowChange } from '../../core/jobs/run-comparison.ts';
import type { JobState } from '../../core/jobs/job-state.ts';
import type { ResourceOverride } from '../../core/limits/resource-limits.ts';
import type { ResourceStatus } from '../../core/limits/resource-status.ts';
import type { ReprocessRequest } from '../../engine/reprocess/reprocess-job.ts';
import type { SubmitFileOptions } from '../../ingest/submit-file.ts';
import type { OpenedGeneration } from '../../store/commands/jobs/open-generation.ts';
import type { OverrideChange } from '../../store/commands/limits/override-resource.ts';
import type { OwnerChange } from '../../store/commands/limits/set-owner.ts';

type Job = z.infer<typeof job>;

const LISTED_KEYS = [
  'jobId',
  'name',
  'pipeline',
  'ownerId',
  'state',
  'outcome',
  'generation',
  'priority',
  'itemCount',
  'sealed',
  'counts',
  'cost',
  'costUnit',
  'pausedBecause',
  'createdAt',
  'startedAt',
  'finishedAt',
] as const satisfies readonly (keyof Job)[];
const SHOWN_KEYS = [
  ...LISTED_KEYS,
  'phases',
  'source',
  'ingestReport',
  'updatesJobId',
  'budget',
  'budgets',
  'held',
  'retrying',
  'limited',
  'endedThisRun',
  'workers',
  'unfinished',
  'waitingBecause',
  'perSecond',
  'rateWindowMs',
  'eta',
  'etaUnknownBecause',
  'blockedBecause',
  'slowSummary',
  'slowBecause',
  'lastError',
  'retention',
] as const satisfies readonly (keyof Job)[];

export type ListedJob = Pick<Job, (typeof LISTED_KEYS)[number]>;
export type ShownJob = Pick<Job, (typeof SHOWN_KEYS)[number]>;
const ERROR_KEYS = [
  'phase',
  'signature',
  'pattern',
  'errorClass',
  'sample',
  'sampleSeq',
  'occurrences',
  'rows',
  'status',
  'firstSeen',
  'lastSeen',
  'fixer',
  'suggestion',
] as const satisfies readonly (keyof z.infer<typeof errorGroup>)[];
const ITEM_KEYS = [
  'seq',
  'row',
  'status',
  'input',
  'result',
  'phase',
  'attempts',
  'errorClass',
  'error',
  'finishedAt',
] as const satisfies readonly (keyof z.infer<typeof item>)[];
const WORKER_KEYS = [
  'workerId',
  'name',
  'version',
  'pipelines',
  'startedAt',
  'heartbeatAt',
  'alive',
  'leasedItems',
  'pools',
  'pressure',
] as const satisfies readonly (keyof z.infer<typeof worker>)[];
const SUMMARY_KEYS = [
  'generation',
  'state',
  'outcome',
  'total',
  'counts',
  'phases',
  'timings',
  'cost',
  'costUnit',
  'files',
  'diff',
  'createdAt',
] as const satisfies readonly (keyof z.infer<typeof summary>)[];
const COUNT_KEYS = ['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'] as const;

export type ShownError = Pick<z.infer<typeof errorGroup>, (typeof ERROR_KEYS)[number]>;
/** The largest groups, and totals over all groups that match. */
export interface ShownErrors {
  groups: ShownError[];
  total: number;
  matching: Record<ShownError['status'], number>;
  all: Record<ShownError['status'], number>;
}
export type ShownItem = Pick<z.infer<typeof item>, (typeof ITEM_KEYS)[number]>;
export type ShownSummary = z.infer<typeof summary>;
export type ShownOwner = z.infer<typeof owner>;
/** Weight, limits, retention and budgets. Null for no limit. */
export interface OwnerSettings extends OwnerChange {
  budgetTotal?: number | null;
  budgetPerDay?: number | null;
}
export type ShownWorker = Pick<z.infer<typeof worker>, (typeof WORKER_KEYS)[number]>;

// Extra fields of a server are dropped and the order is fixed, so that programs get the same text from both.
export const toListedJob = (from: ListedJob): ListedJob => inOrder(pick(from, LISTED_KEYS));
export const toShownJob = (from: ShownJob): ShownJob => inOrder(pick(from, SHOWN_KEYS));
export const toShownError = (from: ShownError): ShownError => pick(from, ERROR_KEYS);
export const toShownItem = (from: ShownItem): ShownItem => pick(from, ITEM_KEYS);
export const toShownSummary = (from: ShownSummary): ShownSummary => pick(from, SUMMARY_KEYS);
export const toShownWorker = (from: ShownWorker): ShownWorker => pick(from, WORKER_KEYS);

function inOrder<Shown extends { counts: ListedJob['counts'] }>(job: Shown): Shown {
  return { ...job, counts: pick(job.counts, COUNT_KEYS) };
}

function pick<From, Key extends keyof From>(from: From, keys: readonly Key[]): Pick<From, Key> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<From, Key>;
}

/** An attempt limit for reruns that no row reaches. */
export const ANY_ATTEMPTS = 1_000_000_000;

export interface JobListRequest {
  limit: number;
  states?: JobState[] | undefined;
  pipeline?: string | undefined;
  search?: string | undefined;
}

export interface PortCompareRequest {
  from?: number | undefined;
  to?: number | undefined;
  changes?: RowChange[] | undefined;
  limit: number;
}

export interface ShownComparison {
  from: number;
  to: number;
  costUnit: string | null;
  totals: Answered<Routes['compareRuns']>['totals'];
  items: z.infer<typeof comparedRow>[];
  /** More rows differ. */
  more: boolean;
}

export interface PortItemsRequest {
  filter: ExportFilter;
  limit: number;
}

export interface PortExportRequest {
  kind: 'results' | 'unsuccessful' | 'rejected';
  format: OutputFormat;
  filter: ExportFilter;
  raw?: boolean | undefined;
  bom?: boolean | undefined;
  delimiter?: CsvDelimiter | undefined;
  generation?: number | undefined;
}

export interface LogsRequest {
  /** Lowest level. */
  level: LineLevel;
  limit: number;
  cursor?: string | undefined;
  /** For polling: `next` is never null. */
  follow?: boolean;
}

export interface SubmitRequest extends Omit<SubmitFileOptions, 'signal'> {
  path: string;
  /** Its name over a server; its module on the database, such as ./prices.ts#prices. */
  pipeline: string;
  onProgress?: (sent: number, total: number | null) => void;
}

export interface Controlled {
  changed: boolean;
  state: JobState;
  /** Held rows that the resume released. */
  released: number;
}

/** The state of a job at one moment. */
export interface WatchedJob {
  job: ShownJob;
  errors: ShownError[];
  /** Why this state may be outdated. */
  notice?: string | undefined;
}

/** A row of a job with everything that its handlers need to run again. */
export interface StoredRow {
  /** Edits included. */
  input: unknown;
  /** Generation of the newest edit; 0: the input is that of the file. */
  inputSince: number;
  params: Record<string, unknown>;
  /** Index of its first phase: rows of some kinds start later. */
  startPhase: number;
  /** Outputs of phases, by generation. */
  stages: { generation: number; phase: number; output: unknown }[];
  /** The newest result; null: it has none yet. */
  outcome: { status: string; errorClass: string | null; error: string | null; result: unknown } | null;
}

export interface DatabaseLoad {
  /** Connections of all programs. */
  open: number;
  maxConnections: number;
  oldestTransactionMs: number | null;
}

export interface JobPort {
  /** The server or database, for display. */
  readonly description: string;
  /** `prefix`: the first characters of the id. */
  findJob(prefix: string): Promise<ShownJob>;
  job(jobId: string): Promise<ShownJob>;
  listJobs(request: JobListRequest): Promise<ListedJob[]>;
  /** Null until the generation is finished. */
  summary(jobId: string): Promise<ShownSummary | null>;
  errors(jobId: string, limit: number): Promise<ShownError[]>;
  errorPage(jobId: string, request: { limit: number; search?: string | undefined }): Promise<ShownErrors>;
  /** Results of two runs side by side; `limit` rows of them. */
  compare(jobId: string, request: PortCompareRequest): Promise<ShownComparison>;
  items(jobId: string, request: PortItemsRequest): Promise<ShownItem[]>;
  /** `seq` counts from 0. */
  storedRow(jobId: string, seq: number): Promise<StoredRow>;
  /** `seq` counts from 0. */
  trace(jobId: string, seq: number): Promise<z.infer<typeof itemTrace>>;
  logs(
    jobId: string,
    request: LogsRequest,
  ): Promise<{ items: z.infer<typeof jobLogLine>[]; next: string | null }>;
  submit(request: SubmitRequest, signal: AbortSignal): Promise<{ jobId: string; created: boolean }>;
  setBudget(jobId: string, change: { max?: number; perItem?: number }): Promise<void>;
  /** Null leaves the retention to the owner, the pipeline or the setting. */
  keep(jobId: string, keepDays: number | null): Promise<void>;
  pause(jobId: string): Promise<Controlled>;
  resume(jobId: string): Promise<Controlled>;
  cancel(jobId: string): Promise<Controlled>;
  delete(jobId: string): Promise<void>;
  reprocess(jobId: string, request: ReprocessRequest): Promise<OpenedGeneration>;
  /** `path` may be STANDARD_OUTPUT. Returns the number of rows, or null if it is unknown. */
  exportTo(jobId: string, path: string, request: PortExportRequest): Promise<number | null>;
  /** Yields the job a few times per second until it finishes. */
  watch(jobId: string, signal: AbortSignal): AsyncIterable<WatchedJob>;
  /** True if the server or database is not available for now. */
  isPassing(error: unknown): boolean;
  workers(): Promise<ShownWorker[]>;
  /** Null over a server, which does not show it. */
  database(): Promise<DatabaseLoad | null>;
  /** Owners with open jobs or settings. */
  owners(limit: number): Promise<ShownOwner[]>;
  /** Changes what is given, and returns it with the values that are stored with it. */
  setOwner(ownerId: string, change: OwnerSettings): Promise<OwnerSettings>;
  resources(request: { name?: string | undefined; limit: number }): Promise<ResourceStatus[]>;
  setResource(name: string, change: OverrideChange, key: string | undefined): Promise<ResourceOverride>;
}
