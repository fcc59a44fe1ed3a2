// Runs the handlers of a pipeline on one row, without a job: the pools of a worker call them and decide the outcomes,
// and nothing is stored. Waits between attempts are real.
import { describe } from '../../core/errors/classify-error.ts';
import { addFailure, NO_FAILURES, strategyOf } from '../../core/errors/failure-counts.ts';
import { describeThrown, type ThrownError } from '../../core/errors/thrown-error.ts';
import { claimedOutputs, type EarlierOutputs } from '../../core/items/earlier-outputs.ts';
import type { FetchRecord } from '../../core/items/fetch-records.ts';
import type { Failure, ItemStatus } from '../../core/items/outcome.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { phasePlace } from '../../pipeline/phase-place.ts';
import { phaseRetryPolicy } from '../../pipeline/phase-retry-policy.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import { Events } from '../../platform/events.ts';
import { newId } from '../../platform/random.ts';
import type { Settings } from '../../platform/settings.ts';
import { capturedLog } from '../../testing/captured-log.ts';
import { UNSHARED_LIMITS } from '../../worker/admission/unshared-limits.ts';
import { PoolOrder } from '../../worker/claims/pool-order.ts';
import { FlushBacklog } from '../../worker/flush/flush-backlog.ts';
import { Lease, type LeaseHolder } from '../../worker/leases/lease.ts';
import { createPools } from '../../worker/run/create-pools.ts';
import type { PhasePool, PoolServices } from '../../worker/run/phase-pool.ts';
import { timeoutFailure } from '../../worker/run/record-failure.ts';
import { ZombieWatch } from '../../worker/run/zombie-watch.ts';
import { MAX_KEPT, type RowTrace, type TracedCall, type TracedLog } from './row-trace.ts';

export interface TryRowOptions {
  pipeline: Pipeline;
  /** The row as stored JSON. */
  input: string;
  params: Readonly<Record<string, unknown>>;
  /** Position of the row, from 0, for `context.seq`. */
  seq: number;
  /** Phase to start at, and the outputs of the phases before. */
  start: { phase: number; outputs: EarlierOutputs };
  settings: Settings;
  blobs: PoolServices['blobs'];
  /** Stop after the first failed attempt instead of waiting for the next. */
  once: boolean;
  /** Resolves with an uncaught error, which would end a worker process. */
  crashed: Promise<unknown>;
  observer?: TryObserver;
}

/** Learns of the calls while they run. */
export interface TryObserver {
  started?(call: TracedCall): void;
  logged?(call: TracedCall, line: TracedLog): void;
  ended?(call: TracedCall): void;
}

export async function tryRow(options: TryRowOptions): Promise<RowTrace> {
  const attempt = new RowTry(options);
  try {
    return await attempt.run();
  } finally {
    await attempt.close();
  }
}

/** A lease outside of the database: no other worker can take it, and nothing has to be returned. */
const NO_HOLDER: LeaseHolder = {
  settled: () => {},
  lost: () => {},
  giveBack: () => {},
  paidInVain: () => {},
};

class RowTry {
  readonly #options: TryRowOptions;
  readonly #pools: PhasePool[];
  readonly #zombies: ZombieWatch;
  readonly #startedMs = monotonicMs();
  /** An id of its own, so that no idempotency key repeats one of a job. */
  readonly #jobId = newId();
  readonly #calls: TracedCall[] = [];
  #waitedMs = 0;
  #thrown: ThrownError | null = null;
  #onOutcome: (outcome: RecordedOutcome) => void = () => {};

  constructor(options: TryRowOptions) {
    this.#options = options;
    const { pipeline, settings, blobs } = options;
    const events = new Events();
    const log = capturedLog(({ level, message, fields }) => this.#log(level, message, fields), null);
    this.#zombies = new ZombieWatch(settings.zombieHandlersMax, events, log);
    this.#pools = createPools(
      [pipeline],
      {
        settings,
        limits: UNSHARED_LIMITS,
        learned: {},
        slots: 1,
        tracesEvery: true,
        onThrown: (thrown) => {
          this.#thrown = thrown;
        },
      },
      {
        writer: { record: (_, outcome) => this.#onOutcome(outcome), drop: () => {} },
        backlog: new FlushBacklog(settings, events),
        order: new PoolOrder<PhasePool>(),
        zombies: this.#zombies,
        finder: { hint: () => {} },
        log,
        blobs,
      },
    );
  }

  async run(): Promise<RowTrace> {
    const { once, start, observer } = this.#options;
    let { phase, outputs } = start;
    let attempt = 0;
    let failures = NO_FAILURES;
    this.#pools[phase]!.open();
    for (;;) {
      const call = this.#open(phase, attempt, failures);
      observer?.started?.(call);
      const outcome = await Promise.race([
        this.#call(this.#claim(phase, attempt, failures, outputs)),
        this.#options.crashed.then((error) => ({ kind: 'crashed' as const, error })),
      ]);
      if (outcome.kind === 'crashed') {
        const failure = this.#crash(call, outcome.error);
        observer?.ended?.(call);
        return this.#trace('ERROR', { json: null, failure });
      }
      this.#finish(call, outcome, phase);
      observer?.ended?.(call);
      if (outcome.kind === 'terminal') return this.#trace(outcome.status, outcome);
      if (outcome.kind === 'advance') {
        outputs = { ...outputs, [phase]: outcome.json! };
        [phase, attempt, failures] = [phase + 1, 0, NO_FAILURES];
        this.#pools[phase]!.open();
        continue;
      }
      if (once) return this.#trace('RETRYING', outcome);
      attempt += 1;
      failures = addFailure(failures, outcome.failure!.class);
      const waitedFromMs = monotonicMs();
      await waitMs(outcome.delayMs);
      this.#waitedMs += monotonicMs() - waitedFromMs;
    }
  }

  async close(): Promise<void> {
    this.#zombies.stop();
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }

  #claim(phase: number, attempt: number, failures: string, outputs: EarlierOutputs): Claim {
    const { seq, input, params, pipeline } = this.#options;
    const { readsOutputs } = phasePlace(pipeline, phase);
    return {
      jobId: this.#jobId,
      spanId: 0,
      token: this.#jobId,
      generation: 1,
      phase,
      attempt,
      failures,
      crashes: 0,
      priority: 0,
      itemCount: 1,
      ranges: [[seq, seq + 1]],
      items: [{ seq, input, ...claimedOutputs(outputs, phase, readsOutputs) }],
      owner: { ownerId: 'try', weight: 1, maxInFlight: null },
      budget: null,
      itemCosts: null,
      params,
    };
  }

  #call(claim: Claim): Promise<RecordedOutcome> {
    return new Promise((resolve) => {
      this.#onOutcome = resolve;
      this.#pools[claim.phase]!.add(new Lease(claim, Number.POSITIVE_INFINITY, NO_HOLDER));
    });
  }

  #open(phase: number, attempt: number, failures: string): TracedCall {
    const { phases, strategies } = this.#options.pipeline;
    this.#thrown = null;
    const call: TracedCall = {
      phase: phases[phase]!.name,
      attempt: attempt + 1,
      maxAttempts: null,
      strategy: strategyOf(strategies, failures) ?? null,
      startedMs: this.#sinceStart(),
      handlerMs: 0,
      outcome: 'retry',
      output: null,
      errorClass: null,
      error: null,
      thrown: null,
      retryAfterMs: null,
      cost: null,
      logs: [],
      logsLeftOut: 0,
      fetches: [],
      emitted: [],
      emittedLeftOut: 0,
      counted: [],
    };
    this.#calls.push(call);
    return call;
  }

  #finish(call: TracedCall, outcome: RecordedOutcome, phase: number): void {
    const { pipeline, settings } = this.#options;
    const { kind, status, json, failure, delayMs, handlerMs, cost, children = [], counted = [] } = outcome;
    const definition = pipeline.phases[phase]!;
    call.handlerMs = Math.round(handlerMs);
    call.outcome =
      kind === 'advance'
        ? 'advanced'
        : kind === 'retry'
          ? 'retry'
          : (status.toLowerCase() as Lowercase<ItemStatus>);
    call.output = json === null ? null : (JSON.parse(json) as unknown);
    call.retryAfterMs = kind === 'retry' ? Math.round(delayMs) : null;
    call.cost = cost ?? null;
    call.emitted = children
      .slice(0, MAX_KEPT)
      .map((child) => ({ key: child.key, input: JSON.parse(child.json) as unknown }));
    call.emittedLeftOut = children.length - call.emitted.length;
    call.counted = counted.slice(0, MAX_KEPT);
    call.fetches = JSON.parse(outcome.trace?.fetches ?? '[]') as FetchRecord[];
    if (failure === null) return;
    call.errorClass = failure.class;
    call.error = failure.message;
    call.maxAttempts = phaseRetryPolicy(settings, definition, pipeline.strategies)[failure.class].maxAttempts;
    // A call that timed out has thrown nothing; an error of an earlier call may arrive late.
    const timeout = timeoutFailure(definition.timeoutMs ?? settings.itemTimeoutMs);
    if (failure.message !== timeout.message) call.thrown = this.#thrown;
  }

  #crash(call: TracedCall, error: unknown): Failure {
    const failure: Failure = { class: 'crashed', message: describe(error), retryAfterMs: null };
    call.handlerMs = this.#sinceStart() - call.startedMs;
    call.outcome = 'crashed';
    call.errorClass = failure.class;
    call.error = failure.message;
    call.thrown = describeThrown(error);
    return failure;
  }

  #log(level: TracedLog['level'], message: string, fields: Record<string, unknown>): void {
    const call = this.#calls.at(-1);
    if (!call) return;
    // The same for every line of the try.
    const { jobId: _, seq: __, attempt: ___, ...own } = fields;
    const line = { atMs: this.#sinceStart(), level, message, fields: own };
    if (call.logs.length < MAX_KEPT) call.logs.push(line);
    else call.logsLeftOut += 1;
    this.#options.observer?.logged?.(call, line);
  }

  #trace(status: RowTrace['status'], { json, failure }: Pick<RecordedOutcome, 'json' | 'failure'>): RowTrace {
    const costs = this.#calls.flatMap(({ cost }) => (cost === null ? [] : [cost]));
    return {
      status,
      phase: this.#calls.at(-1)!.phase,
      result: json === null ? null : (JSON.parse(json) as unknown),
      errorClass: failure?.class ?? null,
      error: failure?.message ?? null,
      calls: this.#calls,
      totalMs: this.#sinceStart(),
      handlerMs: this.#calls.reduce((sum, call) => sum + call.handlerMs, 0),
      waitedMs: Math.round(this.#waitedMs),
      cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
      costUnit: this.#options.pipeline.costUnit,
    };
  }

  #sinceStart(): number {
    return Math.round(monotonicMs() - this.#startedMs);
  }
}
