// Example answers of a server, for tests that play one.
import type { z } from 'zod';
import type { errorGroup } from '../../src/contract/error-group.ts';
import type { item } from '../../src/contract/items.ts';
import type { job, listedJob } from '../../src/contract/jobs.ts';

export const JOB_ID = '018f2f6e-1111-4222-8333-444455556666';
export const AT = '2026-01-02T03:04:05.000Z';

const COUNTS = { PENDING: 0, PROCESSING: 0, DONE: 0, ERROR: 0, NOT_FOUND: 0, SKIPPED: 0, CANCELLED: 0 };

export function exampleListedJob(change: Partial<z.infer<typeof listedJob>> = {}): z.infer<typeof listedJob> {
  return {
    jobId: JOB_ID,
    name: 'rows.csv',
    pipeline: 'echo',
    ownerId: 'alice',
    state: 'RUNNING',
    outcome: null,
    generation: 1,
    priority: 0,
    itemCount: 10,
    sealed: true,
    counts: { ...COUNTS, PENDING: 4, PROCESSING: 2, DONE: 3, ERROR: 1 },
    perSecond: 2,
    rateWindowMs: 60_000,
    cost: 0,
    pausedBecause: null,
    blockedBecause: null,
    lastError: null,
    held: 0,
    createdAt: AT,
    startedAt: AT,
    finishedAt: null,
    ...change,
  };
}

export function exampleJob(change: Partial<z.infer<typeof job>> = {}): z.infer<typeof job> {
  return {
    ...exampleListedJob(),
    phases: ['only'],
    pipelineVersion: null,
    params: {},
    source: null,
    columns: [{ key: 'n', header: 'n' }],
    resultColumns: ['n'],
    ingestReport: {},
    updatesJobId: null,
    outputs: [],
    budget: { max: null, perItem: null },
    budgets: [],
    retrying: 0,
    limited: 0,
    endedThisRun: 0,
    retried: 0,
    fenced: 0,
    workers: 1,
    perPhase: [],
    eta: null,
    limits: [],
    slowSummary: null,
    slowBecause: null,
    runMs: null,
    unfinished: {
      running: 1,
      queued: 1,
      rateLimit: 0,
      retry: 0,
      budget: 0,
      worker: 4,
      onHold: 0,
      reportedAt: AT,
    },
    waitingBecause: {},
    etaUnknownBecause: null,
    sealedAt: AT,
    cancelledAt: null,
    createdBy: null,
    ...change,
  };
}

export function exampleItem(seq: number, change: Partial<z.infer<typeof item>> = {}): z.infer<typeof item> {
  return {
    seq,
    row: seq + 1,
    status: 'DONE',
    input: { n: String(seq) },
    result: { n: String(seq) },
    phase: 0,
    attempts: 1,
    errorClass: null,
    error: null,
    generation: 1,
    handlerMs: 3,
    cost: null,
    finishedAt: AT,
    ...change,
  };
}

export function exampleErrorGroup(): z.infer<typeof errorGroup> {
  return {
    phase: 0,
    signature: 'transient: timed out after * ms',
    pattern: 'timed out after * ms',
    errorClass: 'transient',
    sample: 'timed out after 30 ms',
    sampleSeq: 7,
    occurrences: 5,
    rows: 2,
    status: 'ERROR',
    firstSeen: AT,
    lastSeen: AT,
    fixer: 'operator',
    suggestion: 'Retry',
    trend: { from: AT, stepMs: 1000, counts: [1, 0, 2] },
  };
}
