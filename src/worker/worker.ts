// A worker: claims items of its pipelines, runs them and writes their outcomes. This file only connects its parts,
// which have files of their own.
import type { Ability } from '../core/claims/ability.ts';
import { type LearnedTimes, sampleTimes } from '../core/jobs/learned-times.ts';
import type { PoolStats } from '../core/limits/pool-stats.ts';
import { JobParams } from '../engine/claims/job-params.ts';
import { registerDefinitions } from '../engine/counters/known-counters.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { finalizeIfComplete, leaveToFinalize } from '../engine/jobs/finalize-if-complete.ts';
import { registerWorker, removeSilentWorkers, removeWorker } from '../engine/workers/register-worker.ts';
import { createCallReporter } from '../engine/workers/report-calls.ts';
import { abilityOf } from '../pipeline/define-pipeline.ts';
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import { openBlobStore } from '../platform/blob-store/open-blob-store.ts';
import { monotonicMs, waitMs } from '../platform/clock.ts';
import { Events } from '../platform/events.ts';
import { logEvents } from '../platform/log-events.ts';
import { createLogger, type Logger } from '../platform/logger.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import { type StartedTraces, startTraces } from '../platform/traces/start-traces.ts';
import { WorkListener, WorkNotifier } from '../platform/notifier.ts';
import type { PeriodicService } from '../platform/periodic-service.ts';
import { newId } from '../platform/random.ts';
import { retryPassing } from '../platform/retry-passing.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';
import { VERSION } from '../platform/version.ts';
import { logDatabaseWait, whenDatabaseAnswers } from '../platform/when-database-answers.ts';
import { processName } from '../platform/process-name.ts';

import { WorkerLimits } from './admission/worker-limits.ts';
import { ClaimLoops } from './claims/claim-loops.ts';
import { ClaimsUnderWay } from './claims/claims-under-way.ts';
import { type LookForWork, lookAtAllJobs, lookAtJob } from './claims/look-for-work.ts';
import { PoolOrder } from './claims/pool-order.ts';
import { WorkFinder } from './claims/work-finder.ts';
import { FlushBacklog } from './flush/flush-backlog.ts';
import { FlushWriter } from './flush/flush-writer.ts';
import { HeldLeases } from './leases/held-leases.ts';
import type { Lease } from './leases/lease.ts';
import { LeaseKeeper } from './leases/lease-keeper.ts';
import { Background } from './process/background.ts';
import { openConnections, type WorkerConnections } from './process/worker-connections.ts';
import { createOwnServices, createSharedServices } from './process/worker-services.ts';
import { callsByJob } from './run/calls-by-job.ts';
import { createPools } from './run/create-pools.ts';
import type { PhasePool } from './run/phase-pool.ts';
import { ZombieWatch } from './run/zombie-watch.ts';
import { checkNames, type WorkerOptions } from './worker-options.ts';

/** Minimum time to write outcomes at a shutdown, even if the drain is shorter. */
const MIN_FLUSH_MS = 2000;

const RUNS_ONE_ALONE = {
  share: 0,
  reason: 'it runs one row alone after earlier processes crashed while running it',
};

export type { WorkerOptions };

export interface StopReport {
  /** Outcomes that could not be written before the deadline. Their items will run again. */
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
  readonly #traces: StartedTraces | null;
  readonly #blobs: BlobStore;
  readonly #background: Background;
  readonly #stopIngest = new AbortController();
  readonly #connections: WorkerConnections;
  readonly #order = new PoolOrder<PhasePool>();
  readonly #underWay = new ClaimsUnderWay();
  readonly #keeper: LeaseKeeper;
  readonly #leases: HeldLeases;
  readonly #finder: WorkFinder;
  readonly #backlog: FlushBacklog;
  readonly #writer: FlushWriter;
  readonly #limits: WorkerLimits;
  readonly #zombies: ZombieWatch;
  readonly #pools: PhasePool[];
  readonly #loops: ClaimLoops;
  readonly #listener: WorkListener | null;
  readonly #services: PeriodicService[];
  /** Aborted when running items have had their time to finish. */
  readonly #drained = new AbortController();
  /** Aborted at the end of `stop`. */
  readonly #left = new AbortController();
  #stopped: Promise<StopReport> | null = null;

  constructor(options: WorkerOptions) {
    const { pipelines, databaseUrl, only } = options;
    checkNames(pipelines);
    this.#options = options;
    this.#abilities = pipelines.map((pipeline) => ({
      ...abilityOf(pipeline),
      ...(only && { jobId: only.jobId }),
    }));
    const settings = loadSettings({ flags: options.settings ?? {} });
    const events = options.events ?? new Events();
    const log = options.log ?? createLogger();
    [this.settings, this.events, this.#log] = [settings, events, log];
    this.#stopLog = logEvents(events, log);
    this.#traces = startTraces(settings, events, 'rowmill-worker', log);
    this.#background = new Background(events);
    this.#blobs = openBlobStore(settings.blobStore);
    const shared = { blobs: this.#blobs, events, settings };
    this.#connections = only?.connections ?? openConnections(databaseUrl, shared, log);
    this.#keeper = this.#createKeeper();
    this.#leases = new HeldLeases({
      control: this.#control,
      workerId: this.workerId,
      keeper: this.#keeper,
      background: this.#background,
    });
    this.#finder = new WorkFinder({ settings, events, look: this.#createLook() });
    this.#backlog = new FlushBacklog(settings, events);
    this.#writer = this.#createWriter();
    this.#limits = new WorkerLimits({
      context: this.#control,
      workerId: this.workerId,
      pipelines,
      databases: this.#databases,
      onRelief: () => this.#order.pumpAll(),
    });
    this.#zombies = new ZombieWatch(settings.zombieHandlersMax, events, log);
    this.#pools = this.#createPools();
    this.#loops = this.#createLoops();
    const listens = options.listen !== false && !only;
    this.#listener = listens
      ? new WorkListener({ url: databaseUrl, sender: this.workerId, onHint: () => this.hint() })
      : null;
    this.metrics = createMetrics(events, {
      pools: () => this.pools(),
      bufferFullness: () => this.#backlog.fullness,
      databases: only ? [] : this.#databases,
    });
    // Register immediately, so that the UI shows the reason before the next heartbeat.
    events.on('pressure.changed', ({ from, to }) => {
      if (from === 1 || to === 1) this.#background.run(this.#register());
    });
    const { signal } = this.#stopIngest;
    this.#services = [
      ...(only ? [] : createSharedServices(this.#connections, pipelines, signal, log)),
      ...createOwnServices(this.#control, this.#leases, () => this.#register()),
      createCallReporter(this.#control, this.workerId, () => callsByJob(this.#pools, monotonicMs())),
      this.#limits.service,
    ];
  }

  get #control(): EngineContext {
    return this.#connections.control;
  }

  get #databases(): EngineContext['db'][] {
    const { claims, flushes, control } = this.#connections;
    return [claims.db, flushes.db, control.db];
  }

  get #name(): string {
    return this.#options.name ?? processName();
  }

  #createKeeper(): LeaseKeeper {
    const { watchdogMs, lockFloorMs } = this.settings;
    return new LeaseKeeper({
      url: this.#options.databaseUrl,
      watchdogMs,
      lockFloorMs,
      killWhenStuck: this.#options.killWhenStuck ?? false,
      onStuck: (forMs) => this.events.emit('loop.stuck', { forMs }),
    });
  }

  #createLook(): LookForWork {
    const { only } = this.#options;
    if (!only) return lookAtAllJobs(this.#connections.claims, this.#abilities);
    const isBusy = (): boolean => this.#leases.size > 0 || this.#underWay.has(only.jobId);
    return lookAtJob(this.#control, only.jobId, isBusy, only.onIdle);
  }

  #createWriter(): FlushWriter {
    const notifier = new WorkNotifier(this.#control.db, this.workerId);
    return new FlushWriter({
      context: this.#connections.flushes,
      workerId: this.workerId,
      backlog: this.#backlog,
      claims: this.#underWay,
      onMayFinish: (jobId) => this.#background.run(this.#finish(jobId)),
      onNewWork: () => {
        this.#finder.hint();
        void notifier.hint();
      },
      onRelief: () => this.#order.pumpAll(),
    });
  }

  #createPools(): PhasePool[] {
    const { only, pipelines } = this.#options;
    return createPools(
      pipelines,
      {
        settings: this.settings,
        limits: this.#limits,
        learned: only?.learned ?? {},
      },
      {
        writer: this.#writer,
        backlog: this.#backlog,
        order: this.#order,
        zombies: this.#zombies,
        finder: this.#finder,
        log: this.#log,
        blobs: this.#blobs,
        traces: this.#traces?.rows ?? null,
        ...(only && { onCall: only.onCall }),
      },
    );
  }

  #createLoops(): ClaimLoops {
    const { claims, control } = this.#connections;
    const inBackground = (work: Promise<unknown>): void => this.#background.run(work);
    return new ClaimLoops({
      context: { claims, control, workerId: this.workerId, params: new JobParams(), inBackground },
      finder: this.#finder,
      leases: this.#leases,
      writer: this.#writer,
      underWay: this.#underWay,
      leftMs: () => this.#options.only?.leftMs() ?? Number.POSITIVE_INFINITY,
      onAlone: () => this.#background.run(this.#register()),
    });
  }

  async start(): Promise<void> {
    const { only, pipelines } = this.#options;
    const register = async (): Promise<void> => {
      await registerDefinitions(
        this.#control.db,
        pipelines.flatMap((pipeline) => pipeline.counters),
      );
      if (only) return this.#background.run(retryPassing(() => this.#register()));
      await this.#register();
      await removeSilentWorkers(this.#control);
    };
    await whenDatabaseAnswers(register, {
      waitMs: only ? 0 : this.settings.databaseStartWaitMs,
      onWait: logDatabaseWait(this.#log),
    }).catch(async (error: unknown) => {
      await this.#closeConnections();
      throw error;
    });
    const losses = {
      onLost: (lease: Lease) => this.#writer.lose(lease),
      onExpired: (lease: Lease) => void this.#leases.stop(lease),
    };
    // A slice that finishes early, before its leases need renewal, does not need the keeper thread.
    this.#keeper.start(losses, only ? this.settings.lockFloorMs / 6 : 0);
    this.#listener?.start();
    for (const service of this.#services) service.start();
    for (const pool of this.#pools) pool.open();
    this.#loops.start(this.#order.inOrder);
    // A slice returns a report instead.
    if (!only)
      this.events.emit('worker.started', {
        workerId: this.workerId,
        name: this.#name,
        pipelines: this.#abilities.map(({ pipeline }) => pipeline),
      });
  }

  /**
   * Stops claiming, finishes or aborts running items, flushes, gives items back and unregisters, in this order. Running
   * items get `drainMs`, the remaining steps as long again. Then connections that do not answer are destroyed, and
   * unwritten outcomes are reported. A later call with a shorter `drainMs` shortens the time.
   */
  async stop(options: { drainMs?: number } = {}): Promise<StopReport> {
    const drainMs = options.drainMs ?? this.settings.drainMs;
    const { signal } = this.#left;
    void waitMs(drainMs, signal).then(() => this.#drained.abort());
    void waitMs(drainMs + Math.max(drainMs, MIN_FLUSH_MS), signal).then(() => {
      if (!signal.aborted) this.#cutConnections();
    });
    this.#stopped ??= this.#leave();
    return this.#stopped;
  }

  /** Slot statistics of each phase. */
  pools(): PoolStats[] {
    return this.#pools.map((pool) => pool.stats());
  }

  /** Measured item and claim times of each phase. */
  learnedTimes(): LearnedTimes {
    const times = this.#pools.map(({ options, itemMs, demand }) => [
      options.runtime.phase.name,
      sampleTimes({ itemMs, claimMs: demand.claimMs }),
    ]);
    return Object.fromEntries(times) as LearnedTimes;
  }

  /** Outcomes written so far. */
  get recordedCount(): number {
    return this.#writer.recordedCount;
  }

  /** Triggers a new search, because work may have appeared. */
  hint(): void {
    this.#finder.hint();
  }

  async #leave(): Promise<StopReport> {
    this.#zombies.stop();
    this.#loops.stop();
    this.#stopIngest.abort();
    this.#leases.giveBackUnstarted(this.#leases.all());
    void Promise.all(this.#pools.map((pool) => pool.whenIdle())).then(() => this.#drained.abort());
    await whenAborted(this.#drained.signal);
    for (const pool of this.#pools) pool.abandonRunning(null, new Error('the worker is stopping'));
    await this.#loops.whenStopped();
    await this.#limits.giveBack();
    await this.#writer.drain();
    await Promise.all(this.#services.map((service) => service.stop()));
    await this.#background.settled();
    const unpersisted = this.#reportUnpersisted();
    await this.#keeper.stop();
    await this.#listener?.stop();
    await removeWorker(this.#control, this.workerId).catch(() => {});
    await Promise.all(this.#pools.map((pool) => pool.close()));
    this.metrics.stop();
    this.#limits.stop();
    await this.#closeConnections();
    await this.#blobs.close();
    this.#left.abort();
    if (!this.#options.only)
      this.events.emit('worker.stopped', {
        workerId: this.workerId,
        unpersisted: unpersisted.reduce((sum, { items }) => sum + items, 0),
      });
    await this.#traces?.stop();
    this.#stopLog();
    return { unpersisted };
  }

  #reportUnpersisted(): StopReport['unpersisted'] {
    const unpersisted = this.#writer.unpersisted();
    const reason = 'the database did not accept it before the deadline';
    for (const left of unpersisted) this.events.emit('worker.unpersisted', { ...left, reason });
    return unpersisted;
  }

  #cutConnections(): void {
    this.#writer.abort();
    if (!this.#options.only) for (const db of this.#databases) db.destroy();
  }

  /** Leaves the connections of a slice open, because they belong to its caller. */
  async #closeConnections(): Promise<void> {
    if (!this.#options.only) await Promise.allSettled(this.#databases.map((db) => db.close()));
  }

  /** Finalizing takes time in proportion to the job's files, so a slice does it after releasing everything else. */
  async #finish(jobId: string): Promise<void> {
    const { only } = this.#options;
    if (!only) await finalizeIfComplete(this.#control, jobId);
    else if (await leaveToFinalize(this.#control, jobId)) only.onEnded();
  }

  #register(): Promise<void> {
    return registerWorker(this.#control, {
      workerId: this.workerId,
      name: this.#name,
      version: VERSION,
      abilities: this.#abilities,
      pools: this.pools(),
      pressure: this.#loops.isAlone ? RUNS_ONE_ALONE : this.#limits.pressure,
      memoryBytes: process.memoryUsage.rss(),
    });
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
