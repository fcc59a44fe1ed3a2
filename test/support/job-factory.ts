// Rows for tests: jobs with items, and spans exactly as a test needs them.

import type { Claim } from '../../src/engine/claims/claim-work.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { Executor } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { type ClaimRequest, claimItems } from '../../src/store/commands/spans/claim-items.ts';
import type { TestDatabase } from './test-database.ts';

export interface JobShape {
  items: number;
  phases?: string[];
  /** The input of item n. */
  input?: (n: number) => Record<string, unknown>;
}

/** Creates a job, still ingesting, whose items wait in one span. */
export async function jobWithItems(context: EngineContext, shape: JobShape): Promise<string> {
  const { jobId } = await createJob(context, { pipeline: 'test', phases: shape.phases ?? ['only'] });
  const input = shape.input ?? ((n) => ({ n }));
  await addItems(
    context,
    jobId,
    Array.from({ length: shape.items }, (_, n) => input(n)),
  );
  return jobId;
}

export interface SpanShape {
  items: string;
  phase?: number;
  attempt?: number;
  crashes?: number;
  priority?: number;
  generation?: number;
  /** Negative: it has been ready for that long. */
  readyInMs?: number;
}

/** Replaces the spans of a job. Returns the new span ids, in the given order. */
export async function replaceSpans(
  database: TestDatabase,
  jobId: string,
  spans: SpanShape[],
): Promise<number[]> {
  await database.query('delete from spans where job_id = $1', [jobId]);
  const ids: number[] = [];
  for (const span of spans) {
    const [row] = await database.query<{ span_id: string }>(
      `insert into spans (job_id, generation, phase, items, item_count, priority, attempt, crashes, ready_at)
       values ($1, $2, $3, $4, (select sum(upper(r) - lower(r)) from unnest($4::int8multirange) as u(r)), $5, $6, $7,
               now() + $8::float8 * interval '1 millisecond')
       returning span_id`,
      [
        jobId,
        span.generation ?? 1,
        span.phase ?? 0,
        span.items,
        span.priority ?? 0,
        span.attempt ?? 0,
        span.crashes ?? 0,
        span.readyInMs ?? -1000,
      ],
    );
    ids.push(Number(row!.span_id));
  }
  return ids;
}

/** A claim request of a new worker, with a new token. */
export function claimRequest(jobId: string, request: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    jobId,
    phase: 0,
    maxItems: 1000,
    maxBytes: 1_000_000,
    workerId: newId(),
    token: newId(),
    leaseMs: 60_000,
    ...request,
  };
}

/** The claim as a worker gets it, for a job without parameters, limits and budget. */
export async function claimWhole(db: Executor, request: ClaimRequest): Promise<Claim> {
  const span = (await claimItems(db, request))!;
  const owner = { ownerId: 'local', weight: 1, maxInFlight: null };
  return { ...span, owner, budget: null, itemCosts: null, params: {} };
}
