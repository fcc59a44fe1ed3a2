// A worker: claims items of the pipelines it knows, runs them, writes their outcomes. This file only connects the
// parts; each of them has its own.
import { availableParallelism } from 'node:os';
import { type Ability, canRun } from '../core/ability.ts';
import type { PoolStats } from '../core/pool-stats.ts';
import { RowmillError } from '../core/rowmill-error.ts';
import { rangesOf } from '../core/seq-ranges.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { finishJob } from '../engine/finish-job.ts';
import { createBlobCollector } from '../engine/services/blob-collector.ts';
import { createLedgerFolder } from '../engine/services/ledger-folder.ts';
import { createSweeper } from '../engine/services/sweeper.ts';
import { createIngestResumer } from '../ingest/ingest-resumer.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { openBlobStore } from '../platform/blob-store/open-blob-store.ts';
import { waitMs } from '../platform/clock.ts';
import { Database } from '../platform/database.ts';
import { Events } from '../platform/events.ts';
import { createLogger, type Logger } from '../platform/logger.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { WorkListener, WorkNotifier } from '../platform/notifier.ts';
import { PeriodicService } from '../platform/periodic-service.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';
import { VERSION } from '../platform/version.ts';
import type { Claim } from '../store/commands/claim-items.ts';
import { registerWorker, removeSilentWorkers, removeWorker } from '../store/commands/register-worker.ts';
import { releaseLease } from '../store/commands/release-items.ts';
import { releaseUnstarted } from '../store/commands/release-unstarted.ts';
import { type ClaimableWork, findClaimable } from '../store/views/find-claimable.ts';
import { ClaimLoops } from './claim-loops.ts';
import { abilityOf, type Phase, type Pipeline } from './define-pipeline.ts';
import type { Turn } from './exclusive-turns.ts';
import { FlushWriter } from './flush-writer.ts';
import { HandlerThreads } from './handler-threads.ts';
import type { Lease } from './lease.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { obeyControl } from './obey-control.ts';
import { PhasePool } from './phase-pool.ts';
import { phaseRetryPolicy } from './phase-retry-policy.ts';
import { ResultColumns } from './result-columns.ts';
import type { PhaseRuntime } from './run-item.ts';
import { WorkFinder } from './work-finder.ts';

/** What outcomes get to be written at a shutdown, however short the drain. */
const MIN_FLUSH_MS = 2000;
/** Handlers that heed their abort are gone by then, however many were aborted at once. */
const ZOMBIE_GRACE_MS = 2000;

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
  readonly #abilities: Ability[];
  readonly #log: Logger;
  readonly #blobs: BlobStore;
  readonly #stopIngest = new AbortController();
  // Connections apart for each: a flush never waits behind claims, nor a heartbeat behind a flush.
  readonly #claims: EngineContext;
  readonly #flushes: EngineContext;
  readonly #control: EngineContext;
  readonly #columns: ResultColumns;
  readonly #writer: FlushWriter;
  readonly #keeper: LeaseKeeper;
  readonly #loops: ClaimLoops;
  readonly #listener: WorkListener | null;
  readonly #pools: PhasePool[];
  /** By token. */
  readonly #leases = new Map<string, { lease: Lease; turn: Turn }>();
  readonly #services: PeriodicService[];
  readonly #background = new Set<Promise<unknown>>();
  #stopped: Promise<StopReport> | null = null;
  #zombieTimer: NodeJS.Timeout | null = null;

  constructor(options: WorkerOptions) {
    this.#abilities = options.pipelines.map(abilityOf);
    const names = options.pipelines.map(({ name, version }) =>
      version === null ? name : `${name} version ${version}`,
    );
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) {
      throw new RowmillError('PIPELINE_INVALID', `two pipelines of this worker are named ${twice}`, {
        hint: 'Give each a name, or a version, of its own: jobs find their pipeline by it.',
      });
    }
    this.#options = options;
    this.settings = loadSettings({ flags: options.settings ?? {} });
    this.events = options.events ?? new Events();
    this.#log = options.log ?? createLogger();
    this.#blobs = openBlobStore(this.settings.blobStore);
    this.#columns = new ResultColumns(this.settings.resultMaxColumns);
    this.#claims = this.#openContext('claim', this.settings.claimConcurrency);
    this.#flushes = this.#openContext('flush', this.settings.flushConcurrency);
    this.#control = this.#openContext('control', 2);
    const finder = new WorkFinder({
      settings: this.settings,
      events: this.events,
      look: () => this.#findWork(),
    });
    const notifier = new WorkNotifier(this.#control.db);
    this.#writer = new FlushWriter({
      context: this.#flushes,
      workerId: this.workerId,
      columns: this.#columns,
      onSettled: (lease) => this.#closeLease(lease),
      onLost: (lease) => this.#loseLease(lease),
      onMayFinish: (jobId) => this.#inBackground(finishJob(this.#control, jobId)),
      onNewWork: () => {
        finder.hint();
        void notifier.hint();
      },
      onRelief: () => this.#pumpAll(),
      isClaiming: (jobId) => this.#loops.isClaiming(jobId),
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
    this.#loops = new ClaimLoops({
      claims: this.#claims,
      control: this.#control,
      workerId: this.workerId,
      finder,
      isCongested: () => this.#writer.isCongested,
      onClaim: (pool, claim, leaseMs, turn) => this.#take(pool, claim, leaseMs, turn),
      onNothing: (jobId) => this.#writer.claimEnded(jobId),
      inBackground: (work) => this.#inBackground(work),
    });
    this.#listener =
      options.listen === false
        ? null
        : new WorkListener({ url: options.databaseUrl, onHint: () => finder.hint() });
    this.#pools = options.pipelines.flatMap((pipeline) =>
      pipeline.phases.map((phase, index) => this.#createPool(pipeline, phase, index)),
    );
    this.metrics = createMetrics(this.events, {
      pools: () => this.pools(),
      bufferFullness: () => this.#writer.backlog / this.settings.flushBacklogItems,
      transactions: () => {
        const total = { committed: 0, rolledBack: 0 };
        for (const { db } of [this.#claims, this.#flushes, this.#control]) {
          total.committed += db.transactions.committed;
          total.rolledBack += db.transactions.rolledBack;
        }
        return total;
      },
    });
    this.#services = [
      createSweeper(this.#control),
      new PeriodicService({
        name: 'control watch',
        intervalMs: this.settings.controlLookMs,
        events: this.events,
        work: () =>
          obeyControl(this.#control.db, {
            leases: () => [...this.#leases.values()].map(({ lease }) => lease),
            onPaused: (lease) => this.#pauseLease(lease),
            onCancelled: (lease) => this.#cancelLease(lease),
          }),
      }),
      createLedgerFolder(this.#control),
      createBlobCollector(this.#control),
      createIngestResumer(this.#control, options.pipelines, this.#stopIngest.signal),
      new PeriodicService({
        name: 'heartbeat',
        intervalMs: this.settings.heartbeatMs,
        events: this.events,
        work: () => this.#register(),
      }),
    ];
  }

  async start(): Promise<void> {
    await retryPassing(() => this.#register());
    await removeSilentWorkers(this.#control.db, this.settings.heartbeatMs * 20);
    this.#keeper.start();
    this.#listener?.start();
    for (const service of this.#services) service.start();
    for (const pool of this.#pools) pool.open();
    this.#loops.start(this.#pools);
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

  /** What the slots of each phase are doing. */
  pools(): PoolStats[] {
    return this.#pools.map((pool) => pool.stats());
  }

  async #leave(drainMs: number): Promise<StopReport> {
    const deadline = setTimeout(() => this.#cutConnections(), drainMs + Math.max(drainMs, MIN_FLUSH_MS));
    if (this.#zombieTimer) clearTimeout(this.#zombieTimer);
    this.#loops.stop();
    this.#stopIngest.abort();
    for (const pool of this.#pools) pool.dropQueued(null);
    const idle = new AbortController();
    const allIdle = Promise.all(this.#pools.map((pool) => pool.whenIdle())).then(() => idle.abort());
    await Promise.race([allIdle, waitMs(drainMs, idle.signal)]);
    for (const pool of this.#pools) pool.abandonRunning(null, new Error('the worker is stopping'));
    await this.#loops.whenStopped();
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
    await Promise.all(this.#pools.map((pool) => pool.close()));
    this.metrics.stop();
    await Promise.allSettled([this.#claims, this.#flushes, this.#control].map(({ db }) => db.close()));
    await this.#blobs.close();
    clearTimeout(deadline);
    return { unpersisted };
  }

  #cutConnections(): void {
    this.#writer.abort();
    for (const { db } of [this.#claims, this.#flushes, this.#control]) db.destroy();
  }

  #take(pool: PhasePool, claim: Claim, leaseMs: number, turn: Turn): void {
    const lease = this.#writer.open(claim, leaseMs);
    this.#leases.set(claim.token, { lease, turn });
    this.#keeper.hold({ jobId: claim.jobId, spanId: claim.spanId, token: claim.token, leaseMs });
    if (this.#stopped) return this.#writer.drop(lease, claim.items.length);
    pool.add(lease);
  }

  #closeLease(lease: Lease): void {
    const { jobId, token } = lease.claim;
    this.#leases.get(token)?.turn.end();
    this.#leases.delete(token);
    this.#keeper.drop(token);
    if (lease.droppedCount > 0 && !lease.lost) {
      this.#inBackground(retryPassing(() => releaseLease(this.#control.db, jobId, token)));
    }
  }

  #loseLease(lease: Lease): void {
    this.events.emit('lease.lost', { jobId: lease.claim.jobId, spanId: lease.claim.spanId });
    this.#stopLease(lease);
    for (const pool of this.#pools) pool.abandonRunning(lease, new Error('the lease of this item was lost'));
    this.#pumpAll();
  }

  /** Starts no further item of this lease. Returns the seqs that were waiting for a slot. */
  #stopLease(lease: Lease): number[] {
    lease.stopped = true;
    return this.#pools.flatMap((pool) => pool.dropQueued(lease));
  }

  /** What was not started goes back at once; what runs may take long. */
  #pauseLease(lease: Lease): void {
    const unstarted = this.#stopLease(lease);
    // A lease of which nothing runs was given back whole.
    if (unstarted.length === 0 || !this.#leases.has(lease.claim.token)) return;
    const items = rangesOf(unstarted);
    this.#inBackground(retryPassing(() => releaseUnstarted(this.#control.db, lease.claim, items)));
  }

  /** What is recorded already is still written: it counts when it comes before the cancellation, else it is fenced. */
  #cancelLease(lease: Lease): void {
    for (const pool of this.#pools) pool.abandonRunning(lease, new Error('the job was cancelled'));
    this.#stopLease(lease);
  }

  #withLease(token: string, act: (lease: Lease) => void): void {
    const held = this.#leases.get(token);
    if (held) act(held.lease);
  }

  #pumpAll(): void {
    for (const pool of this.#pools) pool.pump();
  }

  #createPool(pipeline: Pipeline, phase: Phase<unknown, unknown, unknown>, phaseIndex: number): PhasePool {
    const runtime: PhaseRuntime = {
      pipeline,
      phase,
      isLastPhase: phaseIndex === pipeline.phases.length - 1,
      retryPolicy: phaseRetryPolicy(this.settings, phase),
      resultMaxBytes: this.settings.resultMaxBytes,
      columns: this.#columns,
      limits: { emitMaxPerItem: this.settings.emitMaxPerItem },
    };
    const slots = phase.concurrency ?? (phase.thread ? Math.max(1, availableParallelism() - 1) : 10);
    const pool: PhasePool = new PhasePool({
      runtime,
      phaseIndex,
      slots,
      threads: phase.thread ? this.#createThreads(runtime, slots) : null,
      timeoutMs: phase.timeoutMs ?? this.settings.itemTimeoutMs,
      log: this.#log,
      blobs: this.#blobs,
      record: (lease, outcome) => this.#writer.record(lease, outcome),
      drop: (lease, count) => this.#writer.drop(lease, count),
      mayStart: () => !this.#writer.isCongested,
      onHungry: () => this.#loops.wake(pool),
      onZombie: () => this.#checkZombies(),
    });
    return pool;
  }

  /** Only what this worker can run as the job wants it. */
  async #findWork(): Promise<ClaimableWork[]> {
    const names = [...new Set(this.#abilities.map((ability) => ability.pipeline))];
    // On a connection for claims: there a plan that was made for an empty queue is by key too.
    const found = await findClaimable(this.#claims.db, names);
    return found.filter((work) => this.#abilities.some((ability) => canRun(ability, work)));
  }

  #createThreads(runtime: PhaseRuntime, slots: number): HandlerThreads {
    const { resultMaxColumns, blobStore } = this.settings;
    return new HandlerThreads({ runtime, slots, maxColumns: resultMaxColumns, blobStore, log: this.#log });
  }

  /** Handlers that never return keep what they hold: only a fresh process gets rid of them. */
  #checkZombies(): void {
    if (this.#zombieTimer || this.#countZombies() <= this.settings.zombieHandlersMax) return;
    this.#zombieTimer = setTimeout(() => {
      this.#zombieTimer = null;
      const count = this.#countZombies();
      const { zombieHandlersMax } = this.settings;
      if (count <= zombieHandlersMax || this.#stopped) return;
      const fields = { count, zombieHandlersMax };
      this.#log.error(fields, 'aborted handlers do not return: this process has to be replaced');
      this.events.emit('handlers.stuck', { count });
    }, ZOMBIE_GRACE_MS);
  }

  #countZombies(): number {
    return this.#pools.reduce((sum, pool) => sum + pool.zombieCount, 0);
  }

  #register(): Promise<void> {
    return registerWorker(this.#control.db, {
      workerId: this.workerId,
      name: this.#options.name ?? `pid ${process.pid}`,
      version: VERSION,
      abilities: this.#abilities,
    });
  }

  #openContext(role: 'claim' | 'flush' | 'control', maxConnections: number): EngineContext {
    const db = new Database({
      url: this.#options.databaseUrl,
      maxConnections,
      applicationName: `rowmill ${role}`,
      deadlineMs: this.settings.databaseDeadlineMs,
      keyedAccess: role !== 'control',
      onError: (error) => this.#log.warn({ error: error.message }, 'a database connection failed'),
    });
    return { db, blobs: this.#blobs, events: this.events, settings: this.settings };
  }

  #inBackground(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.events.emit('service.failed', { service: 'worker', error }))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }
}
