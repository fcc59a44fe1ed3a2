// The group-commit writer. It collects outcomes per job, generation and phase, and writes them when the first limit of
// size, bytes or time is reached. An outcome leaves memory only after its commit.
import type { EngineContext } from '../../engine/engine-context.ts';
import type { FlushReport, RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { ClaimsUnderWay } from '../claims/claims-under-way.ts';
import type { Lease } from '../leases/lease.ts';
import { addCounts, countRetries, type FlushCounts, sumBytes } from './count-outcomes.ts';
import type { FlushBacklog } from './flush-backlog.ts';
import { FlushGroup, type FlushTrigger, type TakenBatch, type Unpersisted } from './flush-group.ts';
import { persistBatch } from './persist-batch.ts';

export interface FlushWriterOptions {
  context: EngineContext;
  workerId: string;
  backlog: FlushBacklog;
  claims: ClaimsUnderWay;
  /** Runs after a commit that may have completed the job: `finalizeIfComplete`. */
  onMayFinish: (jobId: string) => void;
  /** A flush created claimable work, so the finder should search now. */
  onNewWork: () => void;
  /** There is room again in the backlog, or a lost lease no longer blocks items. */
  onRelief: () => void;
}

export class FlushWriter {
  readonly #options: FlushWriterOptions;
  readonly #groups = new Map<string, FlushGroup>();
  readonly #aborted = new AbortController();
  /** Outcomes committed so far. */
  recordedCount = 0;
  #flushing = 0;
  #draining = false;
  #waiters: (() => void)[] = [];

  constructor(options: FlushWriterOptions) {
    this.#options = options;
  }

  /** Registers a lease whose outcomes will be recorded here. */
  add(lease: Lease): void {
    const key = FlushGroup.keyOf(lease.claim);
    let group = this.#groups.get(key);
    if (!group) {
      group = new FlushGroup(lease.claim.jobId, key);
      this.#groups.set(key, group);
    }
    group.add(lease);
  }

  record(lease: Lease, outcome: RecordedOutcome): void {
    const group = lease.flushGroup!;
    group.openCount -= 1;
    if (!lease.record(outcome)) {
      this.#refuse(lease, [outcome]);
      return this.#settle(lease);
    }
    group.addPending(1, outcome.bytes!);
    this.#options.backlog.add(1, outcome.bytes!);
    this.#review(group);
  }

  /** Notes that items of this lease were given up. They return to the queue when the rest is written. */
  drop(lease: Lease, count: number): void {
    const group = lease.flushGroup!;
    group.openCount -= count;
    lease.drop(count);
    this.#review(group);
    this.#settle(lease);
  }

  /** Flushes outcomes that were only waiting for a claim on this job, which has finished. */
  claimEnded(jobId: string): void {
    for (const group of this.#groups.values()) if (group.jobId === jobId) this.#review(group);
  }

  /** Gives up a lease whose token is no longer valid. Its pending outcomes can no longer be written. */
  lose(lease: Lease): void {
    if (lease.isLost) return;
    const late = lease.lose();
    if (late.length > 0) {
      const bytes = sumBytes(late);
      lease.flushGroup!.addPending(-late.length, -bytes);
      this.#options.backlog.add(-late.length, -bytes);
      this.#refuse(lease, late);
    }
    lease.holder.lost(lease);
    this.#settle(lease);
    // Items that this lease blocked may start now.
    this.#options.onRelief();
  }

  /** True while this worker holds a lease of the job, which then cannot be complete. */
  holds(jobId: string): boolean {
    return [...this.#groups.values()].some((group) => group.jobId === jobId && group.leases.size > 0);
  }

  /** Writes all recorded outcomes. Resolves when they are committed, or after `abort`. */
  async drain(): Promise<void> {
    this.#draining = true;
    for (const group of this.#groups.values()) this.#kick(group, 'drain');
    const { backlog } = this.#options;
    while (this.#flushing > 0 || (backlog.items > 0 && !this.#aborted.signal.aborted)) {
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
    for (const group of this.#groups.values()) this.#disarm(group);
  }

  /** Stops retrying flushes. Unwritten outcomes go back to their leases and are reported by `unpersisted`. */
  abort(): void {
    this.#aborted.abort();
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  /** Outcomes that could not be persisted, per lease, for the report at the end of a drain. */
  unpersisted(): Unpersisted[] {
    return [...this.#groups.values()].flatMap((group) => group.unpersisted());
  }

  /** Flushes a group if it is due, or else sees to it that it becomes due. */
  #review(group: FlushGroup): void {
    const { context, claims } = this.#options;
    const { flushMaxItems, flushMaxBytes } = context.settings;
    if (group.pendingCount === 0) group.due = null;
    else if (group.due !== null) this.#kick(group, group.due);
    else if (group.pendingCount >= flushMaxItems) this.#kick(group, 'size');
    else if (group.pendingBytes >= flushMaxBytes) this.#kick(group, 'bytes');
    else if (this.#draining) this.#kick(group, 'drain');
    // No item is running or queued and no claim is in progress: no more outcomes will come.
    else if (group.openCount === 0 && !claims.has(group.jobId)) this.#kick(group, 'idle');
    else this.#arm(group);
  }

  #kick(group: FlushGroup, trigger: FlushTrigger): void {
    this.#disarm(group);
    group.due ??= trigger;
    const { context, workerId } = this.#options;
    const { flushConcurrency, flushMaxItems } = context.settings;
    if (this.#flushing >= flushConcurrency || this.#aborted.signal.aborted) return;
    const taken = group.takeBatch(workerId, flushMaxItems);
    if (!taken) return;
    const why = group.due;
    group.due = null;
    this.#flushing += 1;
    void this.#write(taken, why);
    if (group.pendingCount >= flushMaxItems) this.#kick(group, 'size');
    else if (group.pendingCount > 0) this.#arm(group);
  }

  #arm(group: FlushGroup): void {
    const { flushMaxDelayMs } = this.#options.context.settings;
    group.timer ??= setTimeout(() => this.#kick(group, 'time'), flushMaxDelayMs);
  }

  #disarm(group: FlushGroup): void {
    if (group.timer) clearTimeout(group.timer);
    group.timer = null;
  }

  async #write(taken: TakenBatch, trigger: FlushTrigger): Promise<void> {
    const { leases, batch } = taken;
    const startedMs = monotonicMs();
    const counts: FlushCounts = { recorded: 0, retried: 0, advanced: 0, ended: {} };
    let mayFinish = false;
    let isWritten = true;
    try {
      for await (const report of persistBatch(this.#options.context, batch, this.#aborted.signal)) {
        mayFinish ||= report.mayFinish;
        addCounts(counts, report);
        this.#hear(report, taken);
      }
    } catch {
      // Happens only after `abort`: the outcomes go back to their leases and are reported.
      isWritten = false;
    }
    for (const [at, lease] of leases.entries()) lease.endFlush(isWritten ? [] : batch.leases[at]!.outcomes);
    if (isWritten) this.#noteCommit(taken, counts, trigger, startedMs);
    this.#flushing -= 1;
    this.#continue();
    if (mayFinish && !this.holds(batch.jobId)) this.#options.onMayFinish(batch.jobId);
  }

  #hear(report: FlushReport, { leases, batch }: TakenBatch): void {
    this.recordedCount += report.recorded;
    if (report.hasNewWork) this.#options.onNewWork();
    if (report.fenced > 0)
      this.#options.context.events.emit('flush.fenced', { jobId: batch.jobId, items: report.fenced });
    if (report.columns.length > 0)
      for (const { knownColumns } of leases) knownColumns?.stored(report.columns);
    if (report.lostTokens.length === 0) return;
    for (const lease of leases) if (report.lostTokens.includes(lease.claim.token)) this.lose(lease);
  }

  #noteCommit(
    { leases, batch, items, bytes }: TakenBatch,
    { recorded, retried, advanced, ended }: FlushCounts,
    trigger: FlushTrigger,
    startedMs: number,
  ): void {
    const { backlog, context } = this.#options;
    const { jobId, phase } = batch;
    backlog.add(-items, -bytes);
    const nowMs = monotonicMs();
    const [ms, claimToCommitMs] = [nowMs - startedMs, nowMs - leases[0]!.claimedAtMs];
    const counts = { items: recorded, retried, advanced, ended };
    context.events.emit('flush.committed', { jobId, phase, ...counts, bytes, ms, claimToCommitMs, trigger });
    if (retried > 0)
      for (const retries of countRetries(batch)) context.events.emit('items.retrying', retries);
    for (const lease of leases) this.#settle(lease);
  }

  #continue(): void {
    const { backlog, onRelief } = this.#options;
    for (const group of this.#groups.values()) this.#review(group);
    if (!backlog.isFullAt(1)) onRelief();
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  #settle(lease: Lease): void {
    if (!lease.isSettled) return;
    const group = lease.flushGroup!;
    if (!group.leases.delete(lease)) return;
    if (group.leases.size === 0) {
      this.#disarm(group);
      this.#groups.delete(group.key);
    }
    lease.holder.settled(lease);
  }

  /** Reports outcomes of a lost lease as fenced, and books their cost. */
  #refuse(lease: Lease, outcomes: readonly RecordedOutcome[]): void {
    const cost = outcomes.reduce((sum, outcome) => sum + (outcome.cost ?? 0), 0);
    if (cost > 0) lease.holder.paidInVain(lease, cost);
    const { jobId } = lease.claim;
    this.#options.context.events.emit('flush.fenced', { jobId, items: outcomes.length });
  }
}
