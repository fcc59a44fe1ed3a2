// Runs one due callback of a pipeline: after the commit of the change it reports, under a lease, and retried until it
// succeeds or reaches the attempt limit. Finishing a job never waits for it.

import { toStorableText } from '../../core/items/storable-json.ts';
import { callbackDelayMs } from '../../core/retries/callback-retry.ts';
import type { CallbackContext } from '../../pipeline/pipeline-callbacks.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import type { Logger } from '../../platform/logger.ts';
import { newId, randomFraction } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import {
  type CallbackKind,
  type CallbackResult,
  type ClaimedCallback,
  claimCallback,
  endCallback,
} from '../../store/commands/jobs/claim-callback.ts';
import type { FailedItem } from '../../core/items/failed-item.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import { readSummary } from '../../store/views/jobs/read-progress.ts';
import { failedItemsPage } from '../../store/views/results/failed-items-page.ts';
import type { EngineContext } from '../engine-context.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';

const LEASE_MARGIN_MS = 30_000;
const ITEMS_PER_CALL = 100;
const ERROR_MAX_LENGTH = 2000;

const FUNCTIONS = { done: 'onDone', itemError: 'onItemError', phaseDone: 'onPhaseDone' } as const;

export function wantedKinds({ callbacks }: Pipeline): {
  wanted: CallbackKind[];
  unwanted: CallbackKind[];
} {
  const kinds = Object.keys(FUNCTIONS) as CallbackKind[];
  const isWanted = (kind: CallbackKind): boolean => callbacks[FUNCTIONS[kind]] !== undefined;
  return { wanted: kinds.filter(isWanted), unwanted: kinds.filter((kind) => !isWanted(kind)) };
}

export interface CallbackCall {
  pipeline: Pipeline;
  log: Logger;
  signal: AbortSignal;
}

/** Returns false if no callback is due. */
export async function runCallback(context: EngineContext, call: CallbackCall): Promise<boolean> {
  const { db, settings } = context;
  const { pipeline, signal } = call;
  const claimed = await claimCallback(db, {
    pipeline: pipeline.name,
    version: pipeline.version,
    kinds: wantedKinds(pipeline).wanted,
    token: newId(),
    leaseMs: settings.itemTimeoutMs + LEASE_MARGIN_MS,
  });
  if (claimed === null) return false;
  const result = await callOnce(context, claimed, call);
  if (signal.aborted && result.state !== 'DONE' && result.error !== undefined)
    await endCallback(db, claimed, { state: 'PENDING', attempts: claimed.attempts - 1 });
  else {
    faultPoint('callback.after_call');
    await retryPassing(() => endCallback(db, claimed, result));
  }
  return !signal.aborted;
}

async function callOnce(
  context: EngineContext,
  claimed: ClaimedCallback,
  call: CallbackCall,
): Promise<CallbackResult> {
  const { jobId, generation, kind, attempts } = claimed;
  try {
    const job = await readJob(context.db, jobId);
    // The job was deleted, so there is nothing to report.
    if (!job) return { state: 'DONE', attempts };
    const toldSeq = await tell(context, claimed, job, call);
    return toldSeq === null ? { state: 'DONE', attempts } : { state: 'PENDING', toldSeq, attempts: 0 };
  } catch (cause) {
    const error = toStorableText(cause instanceof Error ? cause.message : String(cause), ERROR_MAX_LENGTH);
    const delayMs = callbackDelayMs(attempts, randomFraction());
    call.log.warn({ jobId, generation, callback: FUNCTIONS[kind], attempt: attempts }, 'callback failed');
    context.events.emit('callback.failed', {
      jobId,
      generation,
      callback: FUNCTIONS[kind],
      attempt: attempts,
      error: cause,
    });
    return delayMs === null
      ? { state: 'DEAD', error, attempts }
      : { state: 'PENDING', error, delayMs, attempts };
  }
}

/** The last reported seq if there may be more to report; null if everything is reported. */
async function tell(
  context: EngineContext,
  claimed: ClaimedCallback,
  job: Job,
  call: CallbackCall,
): Promise<number | null> {
  const { jobId, generation, kind, part, toldSeq } = claimed;
  const { onDone, onItemError, onPhaseDone } = call.pipeline.callbacks;
  if (kind === 'itemError') {
    const page = { jobId, generation, afterSeq: toldSeq, limit: ITEMS_PER_CALL };
    const items: FailedItem[] = await failedItemsPage(context.db, page);
    const [first, last] = [items[0], items.at(-1)];
    if (!first || !last) return null;
    await callInTime(context, claimed, job, call, `${kind}:${first.seq}`, (given) =>
      onItemError!(items, given),
    );
    return items.length < ITEMS_PER_CALL ? null : last.seq;
  }
  if (kind === 'phaseDone') {
    const phase = job.phases[part]!;
    await callInTime(context, claimed, job, call, `${kind}:${phase}`, (given) => onPhaseDone!(phase, given));
    return null;
  }
  const summary = await readSummary(context.db, jobId, generation);
  if (summary) await callInTime(context, claimed, job, call, kind, (given) => onDone!(summary, given));
  return null;
}

async function callInTime(
  { settings }: EngineContext,
  { jobId, generation, attempts }: ClaimedCallback,
  { name, params }: Job,
  { log, signal: stopping }: CallbackCall,
  key: string,
  run: (given: CallbackContext) => unknown,
): Promise<void> {
  const late = AbortSignal.timeout(settings.itemTimeoutMs);
  const signal = AbortSignal.any([late, stopping]);
  const given: CallbackContext = {
    jobId,
    name,
    generation,
    params,
    idempotencyKey: `${jobId}:${generation}:${key}`,
    attempt: attempts,
    signal,
    log: log.child({ jobId, generation }),
  };
  await new Promise<void>((resolve, reject) => {
    const stop = (): void =>
      reject(
        new Error(late.aborted ? `timed out after ${settings.itemTimeoutMs} ms` : 'the worker is stopping'),
      );
    signal.addEventListener('abort', stop, { once: true });
    Promise.resolve()
      .then(() => run(given))
      .then(() => resolve(), reject)
      .finally(() => signal.removeEventListener('abort', stop));
  });
}
