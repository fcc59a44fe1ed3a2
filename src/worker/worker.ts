// A worker: claims items of the pipelines it knows, runs them, writes their outcomes. This file only connects the
// parts; each of them has its own.
import { availableParallelism } from 'node:os';
import { type Ability, canRun } from '../core/claims/ability.ts';
import { type LearnedTimes, restoreTimes, sampleTimes } from '../core/jobs/learned-times.ts';
import type { PoolStats } from '../core/limits/pool-stats.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { StartRamp } from '../core/limits/start-ramp.ts';
import { bookUnrecorded } from '../engine/flush/book-unrecorded.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { finalizeIfComplete } from '../engine/jobs/finalize-job.ts';
import { registerDefinitions } from '../engine/counters/known-counters.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { openBlobStore } from '../platform/blob-store/open-blob-store.ts';
import { waitMs } from '../platform/clock.ts';
import { Events } from '../platform/events.ts';
import { logEvents } from '../platform/log-events.ts';
import { createLogger, type Logger } from '../platform/logger.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { WorkListener, WorkNotifier } from '../platform/notifier.ts';
import { OwnSigns } from '../platform/own-signs.ts';
import type { PeriodicService } from '../platform/periodic-service.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';
import { VERSION } from '../platform/version.ts';
import { logDatabaseWait, whenDatabaseAnswers } from '../platform/when-database-answers.ts';
import { beginFinalizing } from '../store/commands/jobs/begin-finalizing.ts';
import type { Claim } from '../store/commands/spans/claim-items.ts';
import { registerWorker, removeSilentWorkers, removeWorker } from '../store/commands/jobs/register-worker.ts';
import {
  type ClaimableWork,
  findClaimable,
  findClaimableOfJob,
} from '../store/views/spans/find-claimable.ts';
import { BudgetDesk } from './admission/budget-desk.ts';
import { ClaimLoops } from './claims/claim-loops.ts';
import { abilityOf, type Phase, type Pipeline } from '../pipeline/define-pipeline.ts';
import type { Turn } from './claims/exclusive-turns.ts';
import { FlushWriter } from './flush/flush-writer.ts';
import { HandlerThreads } from './run/handler-threads.ts';
import { HeldLeases } from './leases/held-leases.ts';
import { LeaseKeeper } from './leases/lease-keeper.ts';
import { PhaseGate } from './admission/phase-gate.ts';
import { PhasePool } from './run/phase-pool.ts';
import { phaseRetryPolicy } from '../pipeline/phase-retry-policy.ts';
import { PoolOrder } from './claims/pool-order.ts';
import { PressureWatch } from './admission/pressure-watch.ts';
import { declaredResources, ResourceDesk } from './admission/resource-desk.ts';
import { ResultColumns } from './flush/result-columns.ts';
import type { PhaseRuntime } from './run/run-item.ts';
import { WorkFinder } from './claims/work-finder.ts';
import { openConnections, type WorkerConnections } from './process/worker-connections.ts';
import { createOwnServices, createSharedServices } from './process/worker-services.ts';
import { ZombieWatch } from './run/zombie-watch.ts';

/** What outcomes get to be written at a shutdown, however short the drain. */
const MIN_FLUSH_MS = 2000;

const RUNS_ONE_ALONE = {
  share: 0,
  reason: 'it runs one row with nothing beside it, whose processes ended without an answer before',
};

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
  /** Works on one job and nothing else: see runSlice. */
  only?: OnlyJob;
}

/** What a worker that is restricted to one job asks and tells whoever started it. */
export interface OnlyJob {
  jobId: string;
  /** The caller's, and open: opening them and planning the first claim would take a fifth of a short slice. */
  connections: WorkerConnections;
  /** Times to start with. */
  learned: LearnedTimes;
  /** No claim is larger than what can be done in it. */
  leftMs: () => number;
  /** Nothing is held here and nothing is ready; the first that waits is ready then, or null. */
  onIdle: (readyInMs: number | null) => void;
  /** A handler was called. */
  onCall: () => void;
  /** The last item has ended, and the job waits to be finalized. */
  onEnded: () => void;
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
  readonly #stopLog: () => void;
  readonly #blobs: BlobStore;
  readonly #stopIngest = new AbortController();
  readonly #claims: EngineContext;
  readonly #flushes: EngineContext;
  readonly #control: EngineContext;
  /** Those that end with this worker. */
  readonly #opened: EngineContext[];
  readonly #columns: ResultColumns;
  readonly #writer: FlushWriter;
  readonly #keeper: LeaseKeeper;
  readonly #loops: ClaimLoops;
  readonly #listener: WorkListener | null;
  readonly #pools: PhasePool[];
  readonly #order: PoolOrder;
  readonly #desk: ResourceDesk;
  readonly #signs: OwnSigns;
  readonly #pressure: PressureWatch;
  readonly #budgets: BudgetDesk;
  readonly #held: HeldLeases;
  readonly #finder: WorkFinder;
  readonly #zombies: ZombieWatch;
  readonly #services: PeriodicService[];
  readonly #background = new Set<Promise<unknown>>();
  /** Where the next look for work goes on, when there are many owners. */
  #afterOwner = '';
  #stopped: Promise<StopReport> | null = null;

  constructor(options: WorkerOptions) {
    const { only } = options;
    this.#abilities = options.pipelines.map((pipeline) => ({
      ...abilityOf(pipeline),
      ...(only && { jobId: only.jobId }),
    }));
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
    this.#stopLog = logEvents(this.events, this.#log);
    this.#zombies = new ZombieWatch({
      max: this.settings.zombieHandlersMax,
      count: () => this.#pools.reduce((sum, pool) => sum + pool.zombieCount, 0),
      events: this.events,
      log: this.#log,
    });
    this.#blobs = openBlobStore(this.settings.blobStore);
    this.#columns = new ResultColumns(this.settings.resultMaxColumns);
    const shared = { blobs: this.#blobs, events: this.events, settings: this.settings };
    const connections = only?.connections ?? openConnections(options.databaseUrl, shared, this.#log);
    this.#claims = connections.claims;
    this.#flushes = connections.flushes;
    this.#control = connections.control;
    this.#opened = only ? [] : [this.#claims, this.#flushes, this.#control];
    const finder = new WorkFinder({
      settings: this.settings,
      events: this.events,
      look: only ? () => this.#findWorkOf(only) : () => this.#findWork(),
    });
    this.#finder = finder;
    this.#held = new HeldLeases({
      control: this.#control,
      writer: () => this.#writer,
      keeper: () => this.#keeper,
      pools: () => this.#pools,
      onLost: () => this.#order.pumpAll(),
      inBackground: (work) => this.#inBackground(work),
    });
    const notifier = new WorkNotifier(this.#control.db);
    this.#writer = new FlushWriter({
      context: this.#flushes,
      workerId: this.workerId,
      columns: this.#columns,
      onSettled: (lease) => this.#held.close(lease),
      onLost: (lease) => this.#held.lose(lease),
      payUnrecorded: (lease, cost) =>
        this.#inBackground(bookUnrecorded(this.#control, lease.claim, this.workerId, cost)),
      onMayFinish: (jobId) => this.#inBackground(this.#finish(jobId)),
      onNewWork: () => {
        finder.hint();
        void notifier.hint();
      },
      onRelief: () => this.#order.pumpAll(),
      isClaiming: (jobId) => this.#loops.isClaiming(jobId),
    });
    this.#keeper = new LeaseKeeper({
      url: options.databaseUrl,
      watchdogMs: this.settings.watchdogMs,
      lockFloorMs: this.settings.lockFloorMs,
      killWhenStuck: options.killWhenStuck ?? false,
      onLost: (token) => this.#held.withToken(token, (lease) => this.#writer.lose(lease)),
      onExpired: (token) => this.#held.withToken(token, (lease) => this.#held.stop(lease)),
      onStuck: (forMs) => this.events.emit('loop.stuck', { forMs }),
    });
    this.#loops = new ClaimLoops({
      claims: this.#claims,
      control: this.#control,
      workerId: this.workerId,
      finder,
      isCongested: (pool) => this.#writer.isCongestedAt(this.#order.backlogShare(pool)),
      leftMs: () => only?.leftMs() ?? Number.POSITIVE_INFINITY,
      onClaim: (pool, claim, leaseMs, turn) => this.#take(pool, claim, leaseMs, turn),
      onAlone: () => this.#inBackground(this.#register()),
      onNothing: (jobId) => this.#writer.claimEnded(jobId),
      inBackground: (work) => this.#inBackground(work),
    });
    this.#listener =
      options.listen === false || only
        ? null
        : new WorkListener({ url: options.databaseUrl, onHint: () => finder.hint() });
    this.#desk = new ResourceDesk({
      context: this.#control,
      workerId: this.workerId,
      resources: declaredResources(options.pipelines, this.settings.resources),
      onPermits: () => this.#order.pumpAll(),
    });
    const databases = [this.#claims.db, this.#flushes.db, this.#control.db];
    this.#signs = new OwnSigns(this.events, databases);
    this.#pressure = new PressureWatch({
      settings: this.settings,
      events: this.events,
      takeSigns: () => this.#signs.take(),
      pools: () => this.#pools,
      onRelief: () => this.#order.pumpAll(),
    });
    this.#budgets = new BudgetDesk({
      context: this.#control,
      workerId: this.workerId,
      onBudget: () => this.#order.pumpAll(),
    });
    this.#pools = options.pipelines.flatMap((pipeline) =>
      pipeline.phases.map((phase, index) => this.#createPool(pipeline, phase, index)),
    );
    this.#order = new PoolOrder(this.#pools);
    this.metrics = createMetrics(this.events, {
      pools: () => this.pools(),
      bufferFullness: () => this.#writer.fullness,
      databases: this.#opened.map(({ db }) => db),
    });
    // Those who ask why should not wait for the next heartbeat.
    this.events.on('pressure.changed', ({ from, to }) => {
      if (from === 1 || to === 1) this.#inBackground(this.#register());
    });
    const { signal } = this.#stopIngest;
    this.#services = [
      ...(only ? [] : createSharedServices(this.#control, options.pipelines, signal, this.#log)),
      ...createOwnServices(this.#control, this.#held, () => this.#register()),
      this.#pressure.service,
    ];
  }

  async start(): Promise<void> {
    const counters = this.#options.pipelines.flatMap((pipeline) => pipeline.counters);
    const register = async (): Promise<void> => {
      await registerDefinitions(this.#control.db, counters);
      if (this.#options.only) return this.#inBackground(retryPassing(() => this.#register()));
      await this.#register();
      await removeSilentWorkers(this.#control.db, this.settings.heartbeatMs * 20);
    };
    await whenDatabaseAnswers(register, {
      waitMs: this.#options.only ? 0 : this.settings.databaseStartWaitMs,
      onWait: logDatabaseWait(this.#log),
    }).catch(async (error: unknown) => {
      await Promise.allSettled(this.#opened.map(({ db }) => db.close()));
      throw error;
    });
    // What is over before its leases are half gone needs nobody to renew them.
    this.#keeper.start(this.#options.only ? this.settings.lockFloorMs / 6 : 0);
    this.#listener?.start();
    for (const service of this.#services) service.start();
    for (const pool of this.#pools) pool.open();
    this.#loops.start(this.#order.inOrder);
    // A slice says in its report what it did.
    if (!this.#options.only)
      this.events.emit('worker.started', {
        workerId: this.workerId,
        name: this.#name,
        pipelines: this.#abilities.map(({ pipeline }) => pipeline),
      });
  }

  get #name(): string {
    return this.#options.name ?? `pid ${process.pid}`;
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

  /** What was measured of each phase. */
  learnedTimes(): LearnedTimes {
    const times = this.#pools.map((pool) => [pool.options.runtime.phase.name, sampleTimes(pool)]);
    return Object.fromEntries(times) as LearnedTimes;
  }

  /** Outcomes written so far. */
  get recordedCount(): number {
    return this.#writer.recordedCount;
  }

  /** Something may have changed: look now. */
  hint(): void {
    this.#finder.hint();
  }

  async #leave(drainMs: number): Promise<StopReport> {
    const deadline = setTimeout(() => this.#cutConnections(), drainMs + Math.max(drainMs, MIN_FLUSH_MS));
    this.#zombies.stop();
    this.#loops.stop();
    this.#stopIngest.abort();
    for (const lease of this.#held.all()) this.#held.giveBackUnstarted(lease);
    const idle = new AbortController();
    const allIdle = Promise.all(this.#pools.map((pool) => pool.whenIdle())).then(() => idle.abort());
    await Promise.race([allIdle, waitMs(drainMs, idle.signal)]);
    for (const pool of this.#pools) pool.abandonRunning(null, new Error('the worker is stopping'));
    await this.#loops.whenStopped();
    await Promise.all([this.#desk.stop(), this.#budgets.stop()]);
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
    this.#signs.stop();
    await Promise.allSettled(this.#opened.map(({ db }) => db.close()));
    await this.#blobs.close();
    clearTimeout(deadline);
    if (!this.#options.only)
      this.events.emit('worker.stopped', {
        workerId: this.workerId,
        unpersisted: unpersisted.reduce((sum, { items }) => sum + items, 0),
      });
    this.#stopLog();
    return { unpersisted };
  }

  #cutConnections(): void {
    this.#writer.abort();
    for (const { db } of this.#opened) db.destroy();
  }

  #take(pool: PhasePool, claim: Claim, leaseMs: number, turn: Turn): void {
    const lease = this.#held.open(claim, leaseMs, turn);
    if (this.#stopped) return this.#writer.drop(lease, claim.items.length);
    pool.add(lease);
  }

  /** Finalizing takes as long as the files of the job are large: a slice does it when it has let go of everything else. */
  async #finish(jobId: string): Promise<void> {
    const { only } = this.#options;
    if (!only) await finalizeIfComplete(this.#control, jobId);
    else if (await retryPassing(() => beginFinalizing(this.#control.db, jobId))) only.onEnded();
  }

  #createPool(pipeline: Pipeline, phase: Phase<unknown, unknown, unknown>, phaseIndex: number): PhasePool {
    const runtime: PhaseRuntime = {
      pipeline,
      phase,
      isLastPhase: phaseIndex === pipeline.phases.length - 1,
      retryPolicy: phaseRetryPolicy(this.settings, phase, pipeline.strategies),
      resultMaxBytes: this.settings.resultMaxBytes,
      columns: this.#columns,
      limits: { emitMaxPerItem: this.settings.emitMaxPerItem },
    };
    const slots = phase.concurrency ?? (phase.thread ? Math.max(1, availableParallelism() - 1) : 10);
    // What answered an earlier slice is not cold.
    const learned = this.#options.only?.learned[phase.name];
    const { rampStarts: starts, rampCycleMs: cycleMs } = this.settings;
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
      mayStart: () =>
        !this.#writer.isCongestedAt(this.#order.backlogShare(pool)) && this.#order.hasTurn(pool),
      pressure: () => this.#pressure.factor,
      gate: new PhaseGate(this.#desk, this.#budgets, phase, runtime.pipeline.strategies),
      payUnrecorded: (lease, cost) =>
        this.#inBackground(bookUnrecorded(this.#control, lease.claim, this.workerId, cost)),
      defer: (lease, seqs, delayMs) => this.#held.defer(lease, seqs, delayMs),
      onRested: () => this.#order.pumpBehind(pool),
      ...(this.#options.only && { onCall: this.#options.only.onCall }),
      onHungry: () => this.#loops.wake(pool),
      onShort: () => this.#loops.wakeGuests(pool),
      onRoom: () => this.#finder.hint(),
      onZombie: () => this.#zombies.check(),
      ramp: learned?.itemMs.length ? null : new StartRamp({ starts, cycleMs, slots }),
    });
    if (learned) restoreTimes(pool, learned);
    return pool;
  }

  /** Only what this worker can run as the job wants it. */
  async #findWork(): Promise<ClaimableWork[]> {
    const names = [...new Set(this.#abilities.map((ability) => ability.pipeline))];
    // On a connection for claims: there a plan that was made for an empty queue is by key too.
    const { work: found, nextOwner } = await findClaimable(this.#claims.db, names, this.#afterOwner);
    this.#afterOwner = nextOwner;
    return found.filter((work) => this.#abilities.some((ability) => canRun(ability, work)));
  }

  async #findWorkOf({ jobId, onIdle }: OnlyJob): Promise<ClaimableWork[]> {
    const found = await findClaimableOfJob(this.#control.db, jobId);
    const readyInMs = Math.min(...found.map((work) => work.readyInMs));
    const isBusy = this.#held.size > 0 || this.#loops.isClaiming(jobId);
    if (readyInMs > 0 && !isBusy) onIdle(Number.isFinite(readyInMs) ? readyInMs : null);
    return found;
  }

  #createThreads(runtime: PhaseRuntime, slots: number): HandlerThreads {
    const { resultMaxColumns, blobStore } = this.settings;
    return new HandlerThreads({ runtime, slots, maxColumns: resultMaxColumns, blobStore, log: this.#log });
  }

  #register(): Promise<void> {
    return registerWorker(this.#control.db, {
      workerId: this.workerId,
      name: this.#name,
      version: VERSION,
      abilities: this.#abilities,
      pools: this.pools(),
      pressure: this.#loops.isAlone ? RUNS_ONE_ALONE : this.#pressure.told,
    });
  }

  #inBackground(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.events.emit('service.failed', { service: 'worker', error }))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }
}
