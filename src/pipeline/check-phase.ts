// Checks one phase of a definition.
import { ERROR_CLASSES } from '../core/items/outcome.ts';
import { isAmount } from '../core/limits/budget.ts';
import { invalidPipeline, kindOfValue } from './invalid-pipeline.ts';
import { checkUses } from './phase-resources.ts';
import type { Phase, Pipeline, SinglePhase } from './pipeline.ts';

/** The longest delay of a timer. Longer timers fire immediately. */
const MAX_TIMER_MS = 2_147_483_647;

export function checkPhase(
  pipeline: string,
  phase: Phase,
  { resources, strategies }: Pick<Pipeline, 'resources' | 'strategies'>,
): void {
  const where = `phase ${phase.name} of pipeline ${pipeline}`;
  checkHandler(where, phase);
  checkRetry(where, phase);
  checkTurns(where, phase, strategies);
  checkUses(pipeline, phase, resources);
  checkCost(where, phase.cost);
  for (const key of ['concurrency', 'timeoutMs'] as const)
    if (phase[key] !== undefined && !isWhole(phase[key], 1, MAX_TIMER_MS))
      throw invalidPipeline(`expected ${key} of ${where} to be a whole number from 1, got ${phase[key]}`);
  if (phase.withOutputs !== undefined && typeof phase.withOutputs !== 'boolean')
    throw invalidPipeline(
      `expected withOutputs of ${where} to be true or false, got ${kindOfValue(phase.withOutputs)}`,
    );
  if (phase.priority !== undefined && !isWhole(phase.priority, -1000, 1000))
    throw invalidPipeline(
      `expected priority of ${where} to be a whole number from -1000 to 1000, got ${String(phase.priority)}`,
      'Phases with a higher priority are served first; the default is 0.',
    );
}

function checkHandler(where: string, phase: Phase): void {
  const { run, runMany, batch, thread } = phase as { [Key in keyof SinglePhase<0, 0, 0>]: unknown };
  if (run === undefined && runMany === undefined)
    throw invalidPipeline(`expected ${where} to have a run function, or runMany for several items at once`);
  if (run !== undefined && runMany !== undefined)
    throw invalidPipeline(`expected ${where} to have either run or runMany, got both`);
  if (typeof (run ?? runMany) !== 'function')
    throw invalidPipeline(
      `expected ${run === undefined ? 'runMany' : 'run'} of ${where} to be a function, got ${kindOfValue(run ?? runMany)}`,
      'Write run: async (row, context) => …, without calling it.',
    );
  if (runMany !== undefined) {
    if (thread) throw invalidPipeline(`expected ${where} to have run: a thread takes one item at a time`);
    checkBatch(where, batch);
  } else if (batch !== undefined)
    throw invalidPipeline(`expected ${where} to have runMany, because it has batch`);
  checkThread(where, thread);
}

function checkBatch(where: string, batch: unknown): void {
  const { maxItems, maxWaitMs } = (batch ?? {}) as { maxItems?: unknown; maxWaitMs?: unknown };
  if (!isWhole(maxItems, 1, 100_000))
    throw invalidPipeline(
      `expected batch.maxItems of ${where} to be a whole number from 1 to 100,000, got ${String(maxItems)}`,
    );
  if (maxWaitMs !== undefined && !isWhole(maxWaitMs, 0, 60_000))
    throw invalidPipeline(
      `expected batch.maxWaitMs of ${where} to be a whole number from 0 to 60,000, got ${String(maxWaitMs)}`,
    );
}

function checkThread(where: string, thread: unknown): void {
  if (thread === undefined || thread === null || typeof thread === 'boolean') return;
  const { memoryMb } = thread as { memoryMb?: unknown };
  if (typeof thread === 'object' && isWhole(memoryMb, 16, 1_000_000)) return;
  throw invalidPipeline(`expected thread of ${where} to be true or { memoryMb: a whole number from 16 }`);
}

function checkRetry(where: string, phase: Phase): void {
  for (const [errorClass, rule] of Object.entries(phase.retry ?? {})) {
    if (!(ERROR_CLASSES as readonly string[]).includes(errorClass)) {
      throw invalidPipeline(
        `expected retry of ${where} to name error classes, got ${errorClass}`,
        `The classes are ${ERROR_CLASSES.join(', ')}.`,
      );
    }
    const { maxAttempts } = rule ?? {};
    if (maxAttempts !== undefined && (!Number.isInteger(maxAttempts) || maxAttempts < 1)) {
      throw invalidPipeline(
        `expected maxAttempts for ${errorClass} in ${where} to be a whole number from 1, got ${maxAttempts}`,
        'It counts all calls: 1 means no retries.',
      );
    }
    for (const [key, max] of Object.entries({ baseMs: MAX_TIMER_MS, factor: 1000, capMs: MAX_TIMER_MS })) {
      const value: unknown = (rule as Record<string, unknown> | undefined)?.[key];
      if (value === undefined || (typeof value === 'number' && value >= 0 && value <= max)) continue;
      throw invalidPipeline(
        `expected ${key} for ${errorClass} in ${where} to be a number from 0 to ${max}, got ${typeof value === 'number' ? value : kindOfValue(value)}`,
        'The delay before a retry is random, up to baseMs multiplied by factor for each earlier attempt, and at most capMs.',
      );
    }
  }
}

/** Each strategy needs a turn. Raising the number silently would add calls that cost money. */
function checkTurns(where: string, { retry }: Phase, { length: turns }: readonly string[]): void {
  const attempts = retry?.not_found?.maxAttempts ?? turns;
  if (attempts >= turns) return;
  throw invalidPipeline(
    `expected maxAttempts for not_found in ${where} to be at least ${turns}, the number of strategies, got ${attempts}`,
    `Set it to ${turns} or omit it. If the phase uses no strategy, return fail(reason) or skip(reason) instead of notFound(reason): both end the row at once.`,
  );
}

function checkCost(where: string, cost: unknown): void {
  if (cost === undefined || typeof cost === 'function' || isAmount(cost)) return;
  throw invalidPipeline(
    `expected cost of ${where} to be a number from 0 or a function of the row, got ${typeof cost === 'number' ? cost : kindOfValue(cost)}`,
    'Give the estimated cost of one call, in budget units. See docs/budgets.md.',
  );
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
