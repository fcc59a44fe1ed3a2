// A worker: claims items of the pipelines it knows, runs them, writes their outcomes. This file only connects the
// parts; each of them has its own.
import { claimSize, leaseLength } from '../core/claim-size.ts';
import { defaultRetryPolicy, type RetryPolicy, type RetryRule } from '../core/retry-policy.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import { formatRanges, rangesOf } from '../core/seq-ranges.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { finishJob } from '../engine/finish-job.ts';
import { createLedgerFolder } from '../engine/services/ledger-folder.ts';
import { createSweeper } from '../engine/services/sweeper.ts';
import { monotonicMs, waitMs } from '../platform/clock.ts';
import { Database } from '../platform/database.ts';
import { Events } from '../platform/events.ts';
import { faultPoint } from '../platform/fault-point.ts';
import { createLogger, type Logger } from '../platform/logger.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { WorkListener } from '../platform/notifier.ts';
import { PeriodicService } from '../platform/periodic-service.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';
import { VERSION } from '../platform/version.ts';
import { type Claim, claimItems } from '../store/commands/claim-items.ts';
import { registerWorker, removeSilentWorkers, removeWorker } from '../store/commands/register-worker.ts';
import { releaseAllBut, releaseLease } from '../store/commands/release-items.ts';
import { startJob } from '../store/commands/start-job.ts';
import { type ClaimableWork, findClaimable } from '../store/views/find-claimable.ts';
import type { Phase, Pipeline } from './define-pipeline.ts';
import { ExclusiveTurns, type Turn } from './exclusive-turns.ts';
import { FlushWriter } from './flush-writer.ts';
import type { Lease } from './lease.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { PhasePool } from './phase-pool.ts';
import { WorkFinder } from './work-finder.ts';

/** What outcomes get to be written at a shutdown, however short the drain. */
const MIN_FLUSH_MS = 2000;

export interface WorkerOptions {
  databaseUrl: string;
  pipelines: Pipeline[];
  name?: string;
  settings?: Partial<Settings>;
  /** LISTEN only shortens waits; off behind a transaction pooler. */
  listen?: boolean;
  /** End the process when a handler blocks its main loop past watchdogMs: right under a supervisor. */
  killWhenStuck?: boolean;
  events?: Events;
  log?: Logger;
}

export interface StopReport {
  /** Outcomes that could not be written before the deadline: their items will run again. */
  unpersisted: { jobId: string; seqs: string; items: number }[];
}

export class RowmillWorker {
  readonly workerId = newId();
  readonly events: Events;
  readonly metrics: Metrics;
  readonly settings: Settings;
  readonly #options: WorkerOptions;
  readonly #log: Logger;
  /** Claims and flushes; control statements have connections of their own and never wait behind them. */
  readonly #bulk: EngineContext;
  readonly #control: EngineContext;
  readonly #writer: FlushWriter;
  readonly #keeper: LeaseKeeper;
  readonly #finder: WorkFinder;
  readonly #listener: WorkListener | null;
  readonly #pools: PhasePool[];
  readonly #leases = new Map<string, Lease>();
  /** By token: ends when the lease does. */
  readonly #held = new Map<string, Turn>();
  readonly #services: PeriodicService[];
  readonly #background = new Set<Promise<unknown>>();
  #loops: Promise<void>[] = [];
  readonly #hungry = new Map<PhasePool, (() => void)[]>();
  /** Jobs that a claim is under way for, one entry per claim. */
  readonly #claiming: string[] = [];
  readonly #claimWaiters: (() => void)[] = [];
  readonly #turns = new ExclusiveTurns();
  #stopping = false;
  #stopped: Promise<StopReport> | null = null;

  constructor(options: WorkerOptions) {
    const names = options.pipelines.map((pipeline) => pipeline.name);
    if (new Set(names).size !== names.length)
      throw new RowmillError('PIPELINE_INVALID', 'two pipelines have the same name');
    this.#options = options;
    this.settings = loadSettings({ flags: options.settings ?? {} });
    this.events = options.events ?? new Events();
    this.#log = options.log ?? createLogger();
    this.#bulk = this.#openContext('bulk', this.settings.flushConcurrency + this.settings.claimConcurrency);
    this.#control = this.#openContext('control', 2);
    this.#writer = new FlushWriter({
      context: this.#bulk,
      workerId: this.workerId,
      onSettled: (lease) => this.#closeLease(lease),
      onLost: (lease) => this.#loseLease(lease),
      onMayFinish: (jobId) => this.#inBackground(finishJob(this.#control, jobId)),
      onRelief: () => this.#pumpAll(),
      isClaiming: (jobId) => this.#claiming.includes(jobId),
    });
    this.#keeper = new LeaseKeeper({
      url: options.databaseUrl,
      watchdogMs: this.settings.watchdogMs,
      lockFloorMs: this.settings.lockFloorMs,
      killWhenStuck: options.killWhenStuck ?? false,
      onLost: (token) => this.#withLease(token, (lease) => this.#writer.lose(lease)),
      onExpired: (token) => this.#withLease(token, (lease) => this.#stopLease(lease)),
      onStuck: (forMs) => this.events.emit('loop.stuck', { forMs }),
    });
    this.#finder = new WorkFinder({
      settings: this.settings,
      events: this.events,
      look: () => findClaimable(this.#control.db, names),
    });
    this.#listener =
      options.listen === false
        ? null
        : new WorkListener({ url: options.databaseUrl, onHint: () => this.#finder.hint() });
    this.#pools = options.pipelines.flatMap((pipeline) =>
      pipeline.phases.map((phase, index) => this.#createPool(pipeline, phase, index)),
    );
    this.metrics = createMetrics(this.events, {
      bufferFullness: () => this.#writer.backlog / this.settings.flushBacklogItems,
      transactions: () => {
        const [bulk, control] = [this.#bulk.db.transactions, this.#control.db.transactions];
        return {
          committed: bulk.committed + control.committed,
          rolledBack: bulk.rolledBack + control.rolledBack,
        };
      },
    });
    this.#services = [
      createSweeper(this.#control),
      createLedgerFolder(this.#control),
      new PeriodicService({
        name: 'heartbeat',
        intervalMs: this.settings.heartbeatMs,
        events: this.events,
        work: () => this.#register(),
      }),
    ];
  }

  /** Items that are running or waiting for a slot in this process. */
  get busyCount(): number {
    return this.#pools.reduce((sum, pool) => sum + pool.runningCount + pool.queuedCount, 0);
  }

  async start(): Promise<void> {
    await retryPassing(() => this.#register());
    await removeSilentWorkers(this.#control.db, this.settings.heartbeatMs * 20);
    this.#keeper.start();
    this.#listener?.start();
    for (const service of this.#services) service.start();
    const { claimConcurrency } = this.settings;
    this.#loops = this.#pools.flatMap((pool) =>
      Array.from({ length: claimConcurrency }, () => this.#claimLoop(pool)),
    );
  }

  /**
   * Stop claiming, finish or abort, flush, give back, leave: in this order. Running items get `drainMs`, the rest as
   * long again; then connections that do not answer are destroyed, and what could not be written is reported.
   */
  async stop(options: { drainMs?: number } = {}): Promise<StopReport> {
    const drainMs = options.drainMs ?? this.settings.drainMs;
    this.#stopped ??= this.#leave(drainMs);
    return this.#stopped;
  }

  async #leave(drainMs: number): Promise<StopReport> {
    const deadline = setTimeout(() => this.#cutConnections(), drainMs + Math.max(drainMs, MIN_FLUSH_MS));
    this.#stopping = true;
    this.#finder.stop();
    this.#turns.stop();
    for (const waiting of this.#hungry.values()) for (const wake of waiting) wake();
    for (const pool of this.#pools) pool.dropQueued(null);
    const idle = new AbortController();
    const allIdle = Promise.all(this.#pools.map((pool) => pool.whenIdle())).then(() => idle.abort());
    await Promise.race([allIdle, waitMs(drainMs, idle.signal)]);
    for (const pool of this.#pools) pool.abandonRunning(null, new Error('the worker is stopping'));
    await Promise.all(this.#loops);
    await this.#writer.drain();
    await Promise.all(this.#services.map((service) => service.stop()));
    await Promise.allSettled(this.#background);
    const unpersisted = this.#writer.unpersisted();
    for (const left of unpersisted) {
      this.events.emit('worker.unpersisted', {
        ...left,
        reason: 'the database did not take it before the deadline',
      });
    }
    await this.#keeper.stop();
    await this.#listener?.stop();
    await removeWorker(this.#control.db, this.workerId).catch(() => {});
    for (const pool of this.#pools) pool.close();
    this.metrics.stop();
    await Promise.allSettled([this.#bulk.db.close(), this.#control.db.close()]);
    clearTimeout(deadline);
    return { unpersisted };
  }

  #cutConnections(): void {
    this.#writer.abort();
    this.#bulk.db.destroy();
    this.#control.db.destroy();
  }

  async #claimLoop(pool: PhasePool): Promise<void> {
    const { pipeline } = pool.options.runtime;
    while (!this.#stopping) {
      await this.#whenHungry(pool);
      const work = this.#stopping ? null : await this.#finder.next(pipeline.name, pool.options.phaseIndex);
      if (!work || this.#stopping) continue;
      // Suspects run alone in this process, so that their crash blames nobody else.
      const turn = await (work.suspect ? this.#turns.takeAlone() : this.#turns.take());
      if (this.#stopping) continue;
      this.#claiming.push(work.jobId);
      const claimed = await this.#claim(pool, work, turn).catch((error: unknown) => {
        this.events.emit('claim.failed', { error });
        return false;
      });
      this.#claiming.splice(this.#claiming.indexOf(work.jobId), 1);
      for (const wake of this.#claimWaiters.splice(0)) wake();
      if (claimed) continue;
      turn.end();
      // Our own claims hold what waits there: the next one comes when one of them has ended.
      if (this.#claiming.includes(work.jobId))
        await new Promise<void>((resolve) => this.#claimWaiters.push(resolve));
      else {
        this.#finder.miss(work);
        this.#writer.claimEnded(work.jobId);
      }
    }
  }

  async #whenHungry(pool: PhasePool): Promise<void> {
    while (!this.#stopping && (!pool.isHungry || this.#writer.isCongested)) {
      await new Promise<void>((resolve) => {
        const waiting = this.#hungry.get(pool);
        if (waiting) waiting.push(resolve);
        else this.#hungry.set(pool, [resolve]);
      });
    }
  }

  async #claim(pool: PhasePool, work: ClaimableWork, turn: Turn): Promise<boolean> {
    const itemMs = pool.itemMs.quantile(0.75);
    const asked = claimSize(boundsOf(this.settings), pool.options.slots, itemMs);
    const leaseMs = leaseLength(this.settings, pool.itemMs.quantile(0.99));
    const token = newId();
    const startedMs = monotonicMs();
    let claim: Claim | null;
    pool.incomingCount += asked;
    try {
      claim = await claimItems(this.#bulk.db, {
        jobId: work.jobId,
        phase: work.phase,
        maxItems: asked,
        maxBytes: this.settings.claimMaxBytes,
        workerId: this.workerId,
        token,
        leaseMs,
        suspects: work.suspect,
      });
    } catch (error) {
      // The claim may have been committed: give it back instead of letting it run out.
      this.#inBackground(retryPassing(() => releaseLease(this.#control.db, work.jobId, token)));
      throw error;
    } finally {
      pool.incomingCount -= asked;
    }
    if (!claim) return false;
    pool.claimMs.add(monotonicMs() - startedMs);
    faultPoint('claim.after_commit');
    if (work.unstarted) {
      work.unstarted = false;
      this.#inBackground(startJob(this.#control.db, work.jobId));
    }
    if (claim.items.length < claim.itemCount) await this.#giveBackSurplus(claim);
    this.#held.set(claim.token, turn);
    this.#take(pool, claim, leaseMs, { asked, itemMs, startedMs });
    return true;
  }

  #take(
    pool: PhasePool,
    claim: Claim,
    leaseMs: number,
    how: { asked: number; itemMs: number | null; startedMs: number },
  ): void {
    const lease = this.#writer.open(claim, leaseMs);
    this.#leases.set(claim.token, lease);
    this.#keeper.hold({ jobId: claim.jobId, spanId: claim.spanId, token: claim.token, leaseMs });
    this.events.emit('claim.made', {
      jobId: claim.jobId,
      phase: claim.phase,
      asked: how.asked,
      items: claim.items.length,
      bytes: claim.items.reduce((sum, item) => sum + item.input.length, 0),
      ms: monotonicMs() - how.startedMs,
      reason: how.itemMs === null ? 'first claim' : `p75 item ${how.itemMs.toFixed(2)} ms`,
    });
    if (this.#stopping) return this.#writer.drop(lease, claim.items.length);
    pool.add(lease);
  }

  /** More was leased than may be held in memory. */
  async #giveBackSurplus(claim: Claim): Promise<void> {
    const kept = rangesOf(claim.items.map((item) => item.seq));
    await retryPassing(() => releaseAllBut(this.#control.db, claim, formatRanges(kept), claim.items.length));
    claim.itemCount = claim.items.length;
    claim.ranges = kept;
  }

  #closeLease(lease: Lease): void {
    const { jobId, token } = lease.claim;
    this.#leases.delete(token);
    this.#held.get(token)?.end();
    this.#held.delete(token);
    this.#keeper.drop(token);
    if (lease.droppedCount > 0 && !lease.lost) {
      this.#inBackground(retryPassing(() => releaseLease(this.#control.db, jobId, token)));
    }
  }

  #loseLease(lease: Lease): void {
    this.events.emit('lease.lost', { jobId: lease.claim.jobId, spanId: lease.claim.spanId });
    this.#stopLease(lease);
    for (const pool of this.#pools) pool.abandonRunning(lease, new Error('the lease of this item was lost'));
  }

  /** Starts no further item of this lease. */
  #stopLease(lease: Lease): void {
    lease.stopped = true;
    for (const pool of this.#pools) pool.dropQueued(lease);
  }

  #withLease(token: string, act: (lease: Lease) => void): void {
    const lease = this.#leases.get(token);
    if (lease) act(lease);
  }

  #pumpAll(): void {
    for (const pool of this.#pools) pool.pump();
  }

  #createPool(pipeline: Pipeline, phase: Phase<unknown, unknown, unknown>, phaseIndex: number): PhasePool {
    const pool: PhasePool = new PhasePool({
      runtime: {
        pipeline,
        phase,
        isLastPhase: phaseIndex === pipeline.phases.length - 1,
        retryPolicy: retryPolicyOf(this.settings, phase),
        resultMaxBytes: this.settings.resultMaxBytes,
      },
      phaseIndex,
      slots: phase.concurrency ?? 10,
      timeoutMs: phase.timeoutMs ?? this.settings.itemTimeoutMs,
      log: this.#log,
      record: (lease, outcome) => this.#writer.record(lease, outcome),
      drop: (lease, count) => this.#writer.drop(lease, count),
      mayStart: () => !this.#writer.isCongested,
      onHungry: () => {
        // One at a time: each claim that starts may be enough.
        this.#hungry.get(pool)?.shift()?.();
      },
    });
    return pool;
  }

  #register(): Promise<void> {
    const pipelines = this.#options.pipelines.map((pipeline) => pipeline.name);
    return registerWorker(this.#control.db, {
      workerId: this.workerId,
      name: this.#options.name ?? `pid ${process.pid}`,
      version: VERSION,
      pipelines,
    });
  }

  #openContext(role: 'bulk' | 'control', maxConnections: number): EngineContext {
    const db = new Database({
      url: this.#options.databaseUrl,
      maxConnections,
      applicationName: `rowmill ${role}`,
      deadlineMs: this.settings.databaseDeadlineMs,
      keyedAccess: role === 'bulk',
      onError: (error) => this.#log.warn({ error: error.message }, 'a database connection failed'),
    });
    return { db, events: this.events, settings: this.settings };
  }

  #inBackground(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.events.emit('service.failed', { service: 'worker', error }))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }
}

function boundsOf(settings: Settings): Parameters<typeof claimSize>[0] {
  return { ...settings, targetSliceMs: settings.workerTargetSliceMs };
}

function retryPolicyOf(settings: Settings, phase: Phase<unknown, unknown, unknown>): RetryPolicy {
  const policy = defaultRetryPolicy(settings);
  for (const [errorClass, rule] of Object.entries(phase.retry ?? {}) as [
    keyof RetryPolicy,
    Partial<RetryRule>,
  ][]) {
    policy[errorClass] = { ...policy[errorClass], ...rule };
  }
  return policy;
}
