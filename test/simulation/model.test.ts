// A job against its model: random commands of workers that claim, record, stall, die and return too late, of owners
// that pause, cancel and reprocess, and of processes that die during finalization. After every command each item must
// match the model and the invariants must hold. At the end all items are completed, and every generation must have the
// summary of the model.
//
// Replay a failure with FC_SEED, FC_PATH and FC_REPLAY_PATH as printed.
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ITEM_STATUSES } from '../../src/core/items/outcome.ts';
import { registerDefinitions } from '../../src/engine/counters/known-counters.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { readSummary } from '../../src/store/views/jobs/read-progress.ts';
import { recountCounters } from '../support/counter-recount.ts';
import { depth, isDeep, LONG } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
import {
  always,
  Command,
  expectAgreement,
  type Real,
  SITUATION_NAMES,
  seen,
  seeSituations,
  WORKERS,
} from './model-command.ts';
import {
  beginCancel,
  beginEnd,
  cancelEnding,
  cancelIt,
  cancelSome,
  dieEnding,
  expireEnding,
  goOnEnding,
  type HaltAt,
  openTooEarly,
  pauseAtLast,
  pauseIt,
  type ReprocessPlan,
  reprocessIt,
  reprocessWhileEnding,
  resumeIt,
  takeEnding,
} from './model-control-commands.ts';
import { COUNTER } from './model-counters.ts';
import { EMIT_BOUNDS, isFinished, type Model, newModel, PHASES } from './model-job.ts';
import {
  addSome,
  claim,
  claimUnaware,
  dieOfOneItem,
  type Emits,
  expire,
  type FlushPlan,
  flush,
  fold,
  killWorker,
  letRetriesComeDue,
  type OutcomeName,
  recordTwice,
  release,
  renew,
  rescue,
  seal,
  sweepAll,
  workOffClaimable,
  zombie,
} from './model-worker-commands.ts';
import { prepareForMany } from './prepare-for-many.ts';

const RUNS = depth(40, 300);
const QUICK_SEED = 14;
const MAX_COMMANDS = 160;
const FIRST_ITEMS = 6;
/**
 * For each command and situation in a full run. The rarest occur about fifteen times, so zero means that a run does
 * not reach them.
 */
const FEWEST = 1;

const database = useTestDatabase();
let context: EngineContext;
let client: pg.Client;

beforeAll(async () => {
  await prepareForMany(database);
  context = database.context(EMIT_BOUNDS);
  await registerDefinitions(context.db, [COUNTER]);
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('set plan_cache_mode = force_generic_plan; set jit = off');
});
afterAll(() => client.end());

type WorkOffPlan = Pick<FlushPlan, 'outcomes' | 'emits' | 'afterwards'>;

/** Finishes the job from any state; if a worker died before it checked for the end, the sweep finishes it. */
const workOff = (plan: WorkOffPlan): Command =>
  new Command(`workOff(${JSON.stringify(plan)})`, always, async (model, real) => {
    while (!isFinished(model)) {
      await workOffOpen(model, real, plan);
      if (!isFinished(model)) await sweepAll().run(model, real);
    }
  });

/**
 * The same with workers that all die before the job is finished: the last one after its first step, or with the
 * finalize lease.
 */
const workOffToEnding = (plan: WorkOffPlan, haltAt: HaltAt | null): Command =>
  new Command(
    `workOffToEnding(${JSON.stringify(plan)}, ${haltAt})`,
    (model) => !isFinished(model) && model.state !== 'FINALIZING',
    async (model, real) => {
      await workOffOpen(model, real, { ...plan, afterwards: 'die' });
      await beginEnd().run(model, real);
      if (haltAt !== null) await takeEnding(haltAt).run(model, real);
    },
  );

async function workOffOpen(model: Model, real: Real, plan: WorkOffPlan): Promise<void> {
  if (model.state === 'PAUSED') await resumeIt().run(model, real);
  if (model.items.some(({ place }) => place?.held) && model.state !== 'CANCELLING')
    await resumeIt().run(model, real);
  if (expireEnding().check(model)) await expireEnding().run(model, real);
  if (letRetriesComeDue().check(model)) await letRetriesComeDue().run(model, real);
  await workOffClaimable(model, real, plan);
  if (!model.sealed && model.state === 'INGESTING') await seal().run(model, real);
  if (model.state === 'CANCELLING') await cancelSome(1000).run(model, real);
  seeSituations(model);
}

async function expectSummaries({ summaries, generation, continued }: Model, { jobId }: Real): Promise<void> {
  expect(summaries.map((summary) => summary.generation)).toEqual(
    Array.from({ length: generation }, (_, at) => at + 1).filter((each) => !continued.includes(each)),
  );
  for (const expected of summaries)
    expect(await readSummary(context.db, jobId, expected.generation)).toMatchObject(expected);
}

const worker = fc.nat({ max: WORKERS.length - 1 });
const anyOne = fc.nat({ max: 20 });
const ended: OutcomeName[] = [
  'advance',
  'advance',
  'advance',
  'done',
  'failed',
  'refused',
  'notFound',
  'skipped',
];
const outcome = fc.constantFrom<(OutcomeName | null)[]>(null, 'retry', 'retryLater', ...ended);
const anyChild = fc.record({ key: fc.nat({ max: 15 }), priority: fc.constantFrom(0, 0, 1, -1) });
const anyEmits = fc.oneof(
  fc.constant<Emits[]>([]),
  fc.array(fc.array(anyChild, { maxLength: 3 }), { minLength: 1, maxLength: 4 }),
);
const anyClaim = fc
  .tuple(worker, anyOne, fc.constantFrom(1, 1, 2, 3, 5, 9), fc.constantFrom(1, 1_000_000, 1_000_000))
  .map((request) => claim(...request));
const anyFlush = fc
  .record<FlushPlan>({
    at: anyOne,
    outcomes: fc.array(outcome, { minLength: 1, maxLength: 6 }),
    emits: anyEmits,
    afterwards: fc.constantFrom('finish', 'finish', 'die', 'repeat'),
  })
  .map(flush);
const haltAt = fc.constantFrom<HaltAt[]>('claim-finalize', 'read-job');
const anyWorkOff = fc.record<WorkOffPlan>({
  outcomes: fc.array(fc.constantFrom(...ended), { minLength: 1, maxLength: 6 }),
  emits: anyEmits,
  afterwards: fc.constantFrom('finish', 'die', 'repeat'),
});
const anyReprocess: fc.Arbitrary<ReprocessPlan> = fc.record({
  statuses: fc.oneof(
    fc.constant(null),
    fc.constant('all' as const),
    fc.constant('all' as const),
    fc.subarray([...ITEM_STATUSES], { minLength: 1 }),
  ),
  seqs: fc.option(fc.array(anyOne, { minLength: 1, maxLength: 8 }), { freq: 2 }),
  edits: fc.oneof(
    { weight: 2, arbitrary: fc.constant<number[]>([]) },
    fc.array(anyOne, { minLength: 1, maxLength: 3 }),
  ),
  includePermanent: fc.boolean(),
  maxAttempts: fc.constantFrom(null, null, null, 1, 2, 4),
  from: fc.constantFrom(null, null, null, ...PHASES),
  isLate: fc.nat({ max: 19 }).map((n) => n === 0),
});
const weighted: [weight: number, command: fc.Arbitrary<Command>][] = [
  [3, fc.integer({ min: 1, max: 8 }).map(addSome)],
  [2, anyOne.map(seal)],
  [22, anyClaim],
  [24, anyFlush],
  [2, anyOne.map(expire)],
  [2, fc.boolean().map(rescue)],
  [3, worker.map(killWorker)],
  [5, worker.map(dieOfOneItem)],
  [1, worker.map(renew)],
  [2, anyOne.map(release)],
  [3, anyOne.map(zombie)],
  [2, anyOne.map(recordTwice)],
  [1, fc.constant(sweepAll())],
  [1, fc.constant(fold())],
  [2, fc.constant(letRetriesComeDue())],
  [2, anyOne.map(claimUnaware)],
  [2, anyOne.map(pauseIt)],
  [3, fc.constant(pauseAtLast())],
  [4, anyOne.map(resumeIt)],
  [1, anyOne.map(cancelIt)],
  [1, anyOne.map(beginCancel)],
  [6, fc.constant(cancelEnding())],
  [5, fc.integer({ min: 1, max: 4 }).map(cancelSome)],
  [4, fc.constant(beginEnd())],
  [18, haltAt.map(takeEnding)],
  [14, fc.constant(expireEnding())],
  [10, anyOne.map(goOnEnding)],
  [6, anyOne.map(dieEnding)],
  [2, fc.constant(openTooEarly())],
  [9, anyReprocess.map(reprocessIt)],
  [14, anyReprocess.map(reprocessWhileEnding)],
  [1, anyWorkOff.map(workOff)],
  [3, fc.tuple(anyWorkOff, fc.option(haltAt, { freq: 2 })).map((plan) => workOffToEnding(...plan))],
];
const commands = weighted.flatMap(([weight, command]) => Array.from({ length: weight }, () => command));
const COMMAND_NAMES = `
  addItems seal claim claimUnaware flush expire rescue killWorker dieOfOneItem renew release zombie recordTwice sweep
  foldLedger letRetriesComeDue pause pauseAtLast resume cancel beginCancel cancelEnding cancelSome beginEnd takeEnding
  expireEnding goOnEnding dieEnding openTooEarly reprocess reprocessWhileEnding workOff workOffToEnding`
  .trim()
  .split(/\s+/);
/** Reported by the commands themselves. */
const SEEN_INSIDE = [
  'the release of a trial',
  'the takeover of an ending',
  'an ending by its holder',
  'an ending that was fenced',
  'a reprocess that ends the job first',
  'a reprocess that was refused',
  'a reprocess of nothing',
  'a reprocess of a cancelled job',
  'a reprocess of a paused job',
  'a reprocess from the second phase',
  'a generation that was opened',
  'edits alone',
  'edits and other items',
  'permanent failures left out',
  'exhausted items left out',
];

test(
  'a job always matches its model, whatever happens, and every generation ends with the summary of the model',
  LONG,
  async () => {
    const { FC_SEED, FC_PATH, FC_REPLAY_PATH, FC_RUNS } = process.env;
    // The same jobs on every `npm test`, different ones in the deep lane.
    const drawn = isDeep ? (Date.now() ^ process.pid) | 0 : QUICK_SEED;
    const seed = FC_SEED === undefined ? drawn : Number(FC_SEED);
    console.log(`model run: FC_SEED=${seed}${FC_PATH === undefined ? '' : ` FC_PATH=${FC_PATH}`}`);
    let ran = 0;
    const anyCommands = fc.commands(commands, {
      maxCommands: MAX_COMMANDS,
      size: 'max',
      ...(FC_REPLAY_PATH === undefined ? {} : { replayPath: FC_REPLAY_PATH }),
    });
    const anyJob = fc.record({
      first: fc.nat({ max: FIRST_ITEMS }),
      hold: fc.nat({ max: 5 }).map((n) => n === 0),
      trial: fc.option(fc.integer({ min: 1, max: 5 }), { freq: 2 }),
      outputs: fc.constantFrom([], [], ['csv' as const]),
    });
    const property = fc.asyncProperty(
      anyJob,
      anyCommands,
      fc.constantFrom('finish' as const, 'die' as const),
      async ({ first, hold, trial, outputs }, drawn, afterwards) => {
        // Leftovers of a failed run would be rescued and swept in this one.
        await client.query(
          `delete from spans; delete from jobs; delete from counter_contributions; delete from counter_entries;
         delete from counter_entities; delete from counter_scopes; delete from counter_scope_deltas`,
        );
        const control = { hold, ...(trial !== null && { trial }) };
        const { jobId } = await createJob(context, {
          pipeline: 'modelled',
          phases: PHASES,
          outputs,
          ...control,
        });
        const model = newModel({ hold, trial });
        const real: Real = { context, client, jobId, endings: new Map() };
        try {
          if (first > 0) await addSome(first).run(model, real);
          await fc.asyncModelRun(() => ({ model, real }), drawn);
          await workOff({ outcomes: ['advance'], emits: [], afterwards }).run(model, real);
          await expectAgreement(model, real);
          await expectSummaries(model, real);
          expect(await recountCounters(database)).toEqual([]);
        } finally {
          for (const call of real.endings.values()) await call.die();
        }
        ran += 1;
      },
    );
    await fc.assert(property, {
      seed,
      numRuns: FC_RUNS === undefined ? RUNS : Number(FC_RUNS),
      ...(FC_PATH === undefined ? {} : { path: FC_PATH }),
    });
    console.log(`model run: ${ran} jobs; ${[...seen].map(([what, times]) => `${what} ${times}`).join(', ')}`);
    // A run that misses a situation has not tested it.
    const rare = [...COMMAND_NAMES, ...SITUATION_NAMES, ...SEEN_INSIDE].filter(
      (what) => (seen.get(what) ?? 0) < FEWEST,
    );
    if (isDeep && ran >= RUNS) expect(rare, `seen less than ${FEWEST} times, FC_SEED=${seed}`).toEqual([]);
  },
);
