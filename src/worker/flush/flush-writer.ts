// The group-commit writer: collects outcomes per lane (one job, generation and phase) and writes them by size,
// bytes or time, whichever comes first. An outcome leaves memory only after its commit. A flush that fails for a
// passing reason is tried again whole; one that fails on data is split until the bad item stands alone.

import { MAX_ERROR_LENGTH } from '../../core/errors/classify-error.ts';
import { formatRanges, rangesOf } from '../../core/items/seq-ranges.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { type BufferLevel, bufferLevel } from '../../core/limits/buffer-level.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import { CounterRangeError, STILL_COUNTS } from '../../engine/counters/counter-range-error.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import {
  type FlushBatch,
  type FlushReport,
  flushOutcomes,
  type LeaseOutcomes,
  type RecordedOutcome,
} from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import { newId, randomFraction } from '../../platform/random.ts';
import { Lease } from '../leases/lease.ts';
import { countKinds, countRetries, outcomeBytes } from './count-outcomes.ts';
import { FlushLane, type FlushTrigger } from './flush-lane.ts';
import type { ResultColumns } from './result-columns.ts';

export interface FlushWriterOptions {
  context: EngineContext;
  workerId: string;
  columns: ResultColumns;
  /** Everything of this lease is written. */
  onSettled: (lease: Lease) => void;
  onLost: (lease: Lease) => void;
  /** Outcomes of calls that were paid can no longer be written. */
  payUnrecorded: (lease: Lease, cost: number) => void;
  /** After a commit that may have ended the job. */
  onMayFinish: (jobId: string) => void;
  /** A flush left something to claim: no phase waits for the next look. */
  onNewWork: () => void;
  /** The backlog went below its bound again. */
  onRelief: () => void;
  /** A claim on this job is under way: more outcomes will follow soon, so a small flush can wait for them. */
  isClaiming: (jobId: string) => boolean;
}

/** Bytes of outcomes that may wait, in flushes of the largest size. */
const FLUSHES_IN_BACKLOG = 8;

export class FlushWriter {
  readonly #options: FlushWriterOptions;
  readonly #lanes = new Map<string, FlushLane>();
  readonly #aborted = new AbortController();
  /** Outcomes committed so far. */
  recordedCount = 0;
  #flushing = 0;
  #draining = false;
  #backlogCount = 0;
  #backlogBytes = 0;
  #level: BufferLevel = 'calm';
  #waiters: (() => void)[] = [];

  constructor(options: FlushWriterOptions) {
    this.#options = options;
  }

  /** Outcomes not yet committed. */
  get backlog(): number {
    return this.#backlogCount;
  }

  get isCongested(): boolean {
    return this.isCongestedAt(1);
  }

  /** At this part of the bound. */
  isCongestedAt(share: number): boolean {
    return this.fullness >= share;
  }

  /** Part of the bound at which claims stop, by items or by bytes. */
  get fullness(): number {
    const { flushBacklogItems, flushMaxBytes } = this.#options.context.settings;
    return Math.max(
      this.#backlogCount / flushBacklogItems,
      this.#backlogBytes / (flushMaxBytes * FLUSHES_IN_BACKLOG),
    );
  }

  /** A claim becomes a lease whose outcomes are written here. */
  open(claim: Claim, leaseMs: number): Lease {
    const key = `${claim.jobId} ${claim.generation} ${claim.phase}`;
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = new FlushLane(key, claim.jobId);
      this.#lanes.set(key, lane);
    }
    const lease = new Lease(claim, lane, monotonicMs(), leaseMs);
    lane.leases.add(lease);
    return lease;
  }

  record(lease: Lease, outcome: RecordedOutcome): void {
    lease.openCount -= 1;
    if (lease.lost) {
      if (outcome.cost) this.#options.payUnrecorded(lease, outcome.cost);
      this.#options.context.events.emit('flush.fenced', { jobId: lease.claim.jobId, items: 1 });
      return this.#settle(lease);
    }
    const lane = lease.lane;
    const bytes = outcomeBytes(outcome);
    lease.pending.push(outcome);
    lane.pendingCount += 1;
    lane.pendingBytes += bytes;
    this.#backlogCount += 1;
    this.#backlogBytes += bytes;
    this.#noteLevel();
    const { flushMaxItems, flushMaxBytes } = this.#options.context.settings;
    if (lane.pendingCount >= flushMaxItems) this.#kick(lane, 'size');
    else if (lane.pendingBytes >= flushMaxBytes) this.#kick(lane, 'bytes');
    else if (lease.openCount === 0 && this.#isQuiet(lane)) this.#kick(lane, 'idle');
    else this.#arm(lane);
  }

  /** Items of this lease were given up; they go back when the rest is written. */
  drop(lease: Lease, count: number): void {
    lease.openCount -= count;
    lease.droppedCount += count;
    const lane = lease.lane;
    if (lease.pending.length > 0 && this.#isQuiet(lane)) this.#kick(lane, 'idle');
    else this.#settle(lease);
  }

  /** A claim on this job ended: what waited only for it can go. */
  claimEnded(jobId: string): void {
    for (const lane of this.#lanes.values()) {
      if (lane.jobId === jobId && lane.pendingCount > 0 && this.#isQuiet(lane)) this.#kick(lane, 'idle');
    }
  }

  /** The token is gone: what is pending can no longer be written. */
  lose(lease: Lease): void {
    if (lease.lost) return;
    lease.lost = true;
    const lane = lease.lane;
    const items = lease.pending.length;
    if (items > 0) {
      const cost = lease.pending.reduce((sum, outcome) => sum + (outcome.cost ?? 0), 0);
      if (cost > 0) this.#options.payUnrecorded(lease, cost);
      this.#forget(lane, lease.pending);
      lease.pending = [];
      this.#options.context.events.emit('flush.fenced', { jobId: lease.claim.jobId, items });
    }
    this.#options.onLost(lease);
    this.#settle(lease);
  }

  /** True while a lease of this job is held here: then its end is not near. */
  holds(jobId: string): boolean {
    for (const lane of this.#lanes.values()) if (lane.jobId === jobId && lane.leases.size > 0) return true;
    return false;
  }

  /** Writes everything that was recorded. Resolves when it is committed, or when `abort` ended the attempt. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const lane of this.#lanes.values()) this.#kick(lane, 'drain');
    while (this.#flushing > 0 || (this.#backlogCount > 0 && !this.#aborted.signal.aborted)) {
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
    for (const lane of this.#lanes.values()) this.#disarm(lane);
  }

  /** No flush is tried again: what is not written goes back to its lease, and is reported. */
  abort(): void {
    this.#aborted.abort();
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** What could not be persisted, per lease: for the report at the end of a drain. */
  unpersisted(): { jobId: string; seqs: string; items: number }[] {
    const left: { jobId: string; seqs: string; items: number }[] = [];
    for (const lane of this.#lanes.values()) {
      for (const { claim, pending } of lane.leases) {
        if (pending.length === 0) continue;
        left.push({
          jobId: claim.jobId,
          seqs: formatRanges(rangesOf(pending.map((o) => o.seq))),
          items: pending.length,
        });
      }
    }
    return left;
  }

  /** The backlog changed. */
  #noteLevel(): void {
    const { fullness } = this;
    const [from, to] = [this.#level, bufferLevel(this.#level, fullness)];
    if (from === to) return;
    this.#level = to;
    const { events } = this.#options.context;
    events.emit('buffer.changed', {
      from,
      to,
      fullness,
      items: this.#backlogCount,
      bytes: this.#backlogBytes,
    });
  }

  #kick(lane: FlushLane, trigger: FlushTrigger): void {
    this.#disarm(lane);
    lane.due ??= trigger;
    const { flushConcurrency, flushMaxItems } = this.#options.context.settings;
    if (this.#flushing >= flushConcurrency || this.#aborted.signal.aborted) return;
    const taken = this.#takeBatch(lane);
    if (!taken) return;
    const why = lane.due;
    lane.due = null;
    this.#flushing += 1;
    void this.#write(taken, why);
    if (lane.pendingCount >= flushMaxItems) this.#kick(lane, 'size');
    else if (lane.pendingCount > 0) this.#arm(lane);
  }

  #arm(lane: FlushLane): void {
    lane.timer ??= setTimeout(() => this.#kick(lane, 'time'), this.#options.context.settings.flushMaxDelayMs);
  }

  #disarm(lane: FlushLane): void {
    if (lane.timer) clearTimeout(lane.timer);
    lane.timer = null;
  }

  #takeBatch(lane: FlushLane): { leases: Lease[]; batch: FlushBatch } | null {
    const leases: Lease[] = [];
    const parts: LeaseOutcomes[] = [];
    const { flushMaxItems } = this.#options.context.settings;
    let left = flushMaxItems;
    for (const lease of lane.leases) {
      if (left <= 0) break;
      if (lease.inFlight || lease.pending.length === 0) continue;
      const outcomes = lease.pending.length <= left ? lease.pending : lease.pending.slice(0, left);
      lease.pending = outcomes === lease.pending ? [] : lease.pending.slice(left);
      lease.inFlight = true;
      left -= outcomes.length;
      lane.pendingCount -= outcomes.length;
      for (const outcome of outcomes) lane.pendingBytes -= outcomeBytes(outcome);
      leases.push(lease);
      const { spanId, token, attempt, failures, priority } = lease.claim;
      parts.push({ spanId, token, attempt, failures, priority, outcomes });
    }
    if (leases.length === 0) return null;
    const { jobId, generation, phase } = leases[0]!.claim;
    const batch = {
      jobId,
      generation,
      phase,
      workerId: this.#options.workerId,
      flushId: newId(),
      leases: parts,
    };
    return { leases, batch };
  }

  async #write(
    { leases, batch }: { leases: Lease[]; batch: FlushBatch },
    trigger: FlushTrigger,
  ): Promise<void> {
    const { events } = this.#options.context;
    const startedMs = monotonicMs();
    let mayFinish = false;
    let written = true;
    let recorded = 0;
    try {
      for await (const report of this.#persist(batch)) {
        mayFinish ||= report.mayFinish;
        recorded += report.recorded;
        this.recordedCount += report.recorded;
        if (report.hasNewWork) this.#options.onNewWork();
        if (report.fenced > 0) events.emit('flush.fenced', { jobId: batch.jobId, items: report.fenced });
        for (const lease of leases) if (report.lostTokens.includes(lease.claim.token)) this.lose(lease);
      }
    } catch {
      // Only at the end of a drain: the outcomes go back to their leases and are reported.
      written = false;
    }
    const outcomes = batch.leases.flatMap((part) => part.outcomes);
    for (const [i, lease] of leases.entries()) {
      lease.inFlight = false;
      if (written || lease.lost) continue;
      lease.pending = [...batch.leases[i]!.outcomes, ...lease.pending];
    }
    if (written) {
      this.#backlogCount -= outcomes.length;
      for (const outcome of outcomes) {
        this.#backlogBytes -= outcomeBytes(outcome);
        if (outcome.columns) this.#options.columns.stored(batch.jobId, batch.generation, outcome.columns);
      }
      this.#noteLevel();
      const now = monotonicMs();
      const claimToCommitMs = now - leases[0]!.claimedAtMs;
      const bytes = outcomes.reduce((sum, outcome) => sum + outcomeBytes(outcome), 0);
      events.emit('flush.committed', {
        jobId: batch.jobId,
        phase: batch.phase,
        items: recorded,
        ...countKinds(outcomes),
        bytes,
        ms: now - startedMs,
        claimToCommitMs,
        trigger,
      });
      for (const retries of countRetries(batch)) events.emit('items.retrying', retries);
      for (const lease of leases) this.#settle(lease);
    }
    this.#flushing -= 1;
    this.#continue();
    if (mayFinish && !this.holds(batch.jobId)) this.#options.onMayFinish(batch.jobId);
  }

  #continue(): void {
    const { flushMaxItems, flushMaxBytes } = this.#options.context.settings;
    for (const lane of this.#lanes.values()) {
      if (lane.pendingCount === 0) lane.due = null;
      else if (lane.due !== null) this.#kick(lane, lane.due);
      else if (lane.pendingCount >= flushMaxItems || lane.pendingBytes >= flushMaxBytes)
        this.#kick(lane, 'size');
      else if (this.#draining) this.#kick(lane, 'drain');
      else if (this.#isQuiet(lane)) this.#kick(lane, 'idle');
      else this.#arm(lane);
    }
    if (!this.isCongested) this.#options.onRelief();
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** One report per transaction: a batch with bad data is committed in parts. */
  async *#persist(batch: FlushBatch): AsyncGenerator<FlushReport> {
    const { context } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        yield await flushOutcomes(context, batch, attempt > 0);
        return;
      } catch (error) {
        const kind = databaseErrorKind(error);
        const items = batch.leases.reduce((sum, lease) => sum + lease.outcomes.length, 0);
        context.events.emit('flush.rolled_back', { jobId: batch.jobId, items, error, kind });
        if (kind === 'data') {
          context.events.emit('flush.split', { jobId: batch.jobId, items, error });
          const parts = splitBatch(batch, error);
          if (parts === null) {
            // Not even its failure can be stored: let go of the lease rather than hold the item for ever.
            const lostTokens = batch.leases.map((lease) => lease.token);
            yield { recorded: 0, fenced: items, lostTokens, mayFinish: false, hasNewWork: false };
          } else for (const part of parts) yield* this.#persist(part);
          return;
        }
        if (this.#aborted.signal.aborted) throw error;
        // Anything else is the database's trouble, never the items': keep them and try again.
        await waitMs(
          randomFraction() * Math.min(5000, 50 * 2 ** Math.min(attempt, 10)),
          this.#aborted.signal,
        );
      }
    }
  }

  #settle(lease: Lease): void {
    if (!lease.isSettled) return;
    const { lane } = lease;
    if (!lane.leases.delete(lease)) return;
    if (lane.leases.size === 0) {
      this.#disarm(lane);
      this.#lanes.delete(lane.key);
    }
    this.#options.onSettled(lease);
  }

  #forget(lane: FlushLane, outcomes: RecordedOutcome[]): void {
    lane.pendingCount -= outcomes.length;
    this.#backlogCount -= outcomes.length;
    for (const outcome of outcomes) {
      lane.pendingBytes -= outcomeBytes(outcome);
      this.#backlogBytes -= outcomeBytes(outcome);
    }
    this.#noteLevel();
  }

  /** Nothing of this lane is running, waiting for a slot or being fetched: there is nothing to wait for. */
  #isQuiet(lane: FlushLane): boolean {
    return !lane.hasOpenItems && !this.#options.isClaiming(lane.jobId);
  }
}

/** Halves, or, when one outcome stands alone, the same item recorded as failed with the reason; null when it was that. */
function splitBatch(batch: FlushBatch, error: unknown): FlushBatch[] | null {
  const all = batch.leases.flatMap((lease) => lease.outcomes.map((outcome) => ({ lease, outcome })));
  if (all.length === 1) {
    const { lease, outcome } = all[0]!;
    const failed = failedInstead(outcome, error as Error);
    return failed && [{ ...batch, flushId: newId(), leases: [{ ...lease, outcomes: [failed] }] }];
  }
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)].map((half) => {
    const leases = new Map<string, LeaseOutcomes>();
    for (const { lease, outcome } of half) {
      const part = leases.get(lease.token) ?? { ...lease, outcomes: [] };
      part.outcomes.push(outcome);
      leases.set(lease.token, part);
    }
    return { ...batch, flushId: newId(), leases: [...leases.values()] };
  });
}

function failedInstead(outcome: RecordedOutcome, error: Error): RecordedOutcome | null {
  const { seq, handlerMs, cost } = outcome;
  const unstorable = {
    class: 'permanent',
    message: `the outcome cannot be stored: ${error.message}`,
  } as const;
  const common = { seq, kind: 'terminal', json: null, delayMs: 0, handlerMs, cost } as const;
  // Nothing was added, so it is what is taken back: then that goes on counting, and a failure stays the one it was.
  if (error instanceof CounterRangeError && !outcome.counted?.length) {
    if (outcome.keepsCounted) return null;
    const { failure, status } = outcome;
    const why = failure ?? unstorable;
    const message = `${toStorableText(why.message, MAX_ERROR_LENGTH - STILL_COUNTS.length - 1)}\n${STILL_COUNTS}`;
    return {
      ...common,
      status: failure ? status : 'ERROR',
      failure: { class: why.class, message, retryAfterMs: null },
      keepsCounted: true,
    };
  }
  const message = toStorableText(unstorable.message, MAX_ERROR_LENGTH);
  if (outcome.failure?.message === message) return null;
  return { ...common, status: 'ERROR', failure: { ...unstorable, message, retryAfterMs: null } };
}
