// Creates a job that is open for items. Repeating a request with the same idempotency key returns the same job.
import { isDeepStrictEqual } from 'node:util';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { JobSource } from '../../core/files/file-format.ts';
import type { JobOutput } from '../../core/files/output-format.ts';
import { EVERYBODY } from '../../core/items/counter.ts';
import type { InputColumn } from '../../core/items/input-column.ts';
import { checkBudget, type JobBudget } from '../../core/limits/budget.ts';
import type { Transaction } from '../../platform/database.ts';
import { derivedId, newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { claimFileSet } from '../../store/commands/items/change-file-sets.ts';
import { insertJob } from '../../store/commands/jobs/insert-job.ts';
import { lockOwner } from '../../store/commands/limits/lock-owner.ts';
import { isBeingRemoved } from '../../store/views/jobs/list-removals.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { checkQuota } from './check-quota.ts';
import { recordChange } from './record-change.ts';

export interface CreateJobRequest {
  pipeline: string;
  /** Null: any version may run it. */
  pipelineVersion?: string | null;
  /** Retention that the pipeline declares; null for none. */
  pipelineKeepDays?: number | null;
  phases: string[];
  /** Unit of its costs; null or left out: unknown. */
  costUnit?: string | null;
  ownerId?: string;
  name?: string;
  params?: unknown;
  priority?: number;
  idempotencyKey?: string;
  source?: JobSource;
  /** Blobs of the source (engine/items/file-set.ts); the job owns them from the commit on. */
  fileSetId?: string;
  inputColumns?: InputColumn[];
  keyColumns?: readonly string[];
  updatesJobId?: string;
  /** Formats of the result files. Default: CSV; no files if empty. */
  outputs?: readonly JobOutput[];
  /** Creates the job paused: nothing runs before `resume`, and items can be appended until the seal. */
  hold?: boolean;
  /** Runs only this many items first and holds the rest until `resume`. */
  trial?: number;
  /** Cost limits of the job and of each item. */
  budget?: JobBudget;
  /** Identifies the content of the request: the same idempotency key with a different fingerprint is a conflict. */
  fingerprint?: string;
  /** Refuses the job if its owner has reached a quota. */
  withinQuota?: boolean;
}

export async function createJob(
  context: EngineContext,
  request: CreateJobRequest,
): Promise<{ jobId: string; created: boolean }> {
  if (request.trial !== undefined && (!Number.isSafeInteger(request.trial) || request.trial < 1)) {
    throw new RowmillError(
      'ITEM_INVALID',
      `expected trial to be a whole number from 1, got ${request.trial}`,
      {
        hint: 'Set it to the number of items to run before the rest is released.',
      },
    );
  }
  const wrong = request.budget === undefined ? null : checkBudget(request.budget);
  if (wrong !== null) throw new RowmillError('BUDGET_INVALID', wrong);
  const ownerId = request.ownerId ?? 'local';
  if (ownerId === EVERYBODY)
    throw new RowmillError(
      'OWNER_INVALID',
      `expected an owner other than ${EVERYBODY}, which means all owners`,
    );
  const params = request.params ?? {};
  // Created once, outside the retry, so that a retried insert finds its own row.
  const jobId =
    request.idempotencyKey === undefined ? newId() : derivedId('job', ownerId, request.idempotencyKey);
  const requestId = newId();
  const insert = async (tx: Transaction): Promise<boolean> => {
    if (request.withinQuota) await lockOwner(tx, ownerId);
    const isNew = await insertJob(tx, {
      jobId,
      ownerId,
      pipeline: request.pipeline,
      phases: request.phases,
      name: request.name ?? '',
      params,
      priority: request.priority ?? 0,
      requestId,
      source: request.source ?? null,
      inputColumns: request.inputColumns ?? [],
      keyColumns: request.keyColumns ?? [],
      updatesJobId: request.updatesJobId ?? null,
      outputs: request.outputs ?? ['csv'],
      pipelineVersion: request.pipelineVersion ?? null,
      pipelineKeepDays: request.pipelineKeepDays ?? null,
      hold: request.hold ?? false,
      trialItems: request.trial ?? null,
      budget: request.budget ?? {},
      fingerprint: request.fingerprint ?? null,
      costUnit: request.costUnit ?? null,
    });
    if (!isNew) return false;
    await refuseWhileRemoved(tx, jobId);
    if (request.fileSetId !== undefined && !(await claimFileSet(tx, request.fileSetId, jobId)))
      throw new RowmillError(
        'FILE_INCOMPLETE',
        'the file was deleted from the blob store before its job was created',
      );
    if (request.withinQuota) await checkQuota(tx, context.settings, ownerId);
    const detail = { pipeline: request.pipeline, name: request.name ?? '' };
    await recordChange(tx, context, { jobId, kind: 'job.created', action: 'job.create', detail });
    return true;
  };
  const inserted = await retryPassing(() => context.db.transaction(insert));
  const existing = inserted ? null : await retryPassing(() => readJob(context.db, jobId));
  // A retried insert whose first reply was lost found its own row.
  if (inserted || existing?.ingestBatch === requestId) {
    context.events.emit('job.created', { jobId, ownerId, pipeline: request.pipeline });
    return { jobId, created: true };
  }
  const same =
    existing?.pipeline === request.pipeline &&
    isDeepStrictEqual(existing.params, JSON.parse(JSON.stringify(params))) &&
    (request.fingerprint === undefined || [null, request.fingerprint].includes(existing.fingerprint));
  if (!same) {
    throw new RowmillError(
      'IDEMPOTENCY_KEY_REUSED',
      `this idempotency key was used for another job (${jobId})`,
    );
  }
  return { jobId, created: false };
}

/**
 * Remaining rows of a deleted job would be mistaken for rows of the new one. A separate statement, because it must
 * see the latest commits.
 */
async function refuseWhileRemoved(tx: Transaction, jobId: string): Promise<void> {
  if (!(await isBeingRemoved(tx, jobId))) return;
  throw new RowmillError('JOB_CONFLICT', `job ${jobId} is being deleted`, {
    hint: 'Try again in a moment, or use another idempotency key.',
    retryAfterMs: 1000,
  });
}
