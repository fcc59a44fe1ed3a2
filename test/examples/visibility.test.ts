// The visibility example end to end: its pipeline on a real database and worker, against a stand-in service whose world
// knows every score.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NewJobOptions, openRowmill, type Rowmill, type RowmillWorker } from 'rowmill';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { StandInOptions } from '../../examples/stand-in-server.ts';
import {
  generateWorld,
  questionsAbout,
  trueScore,
  type World,
  writeWebsites,
} from '../../examples/visibility/generate-businesses.ts';
import { type ModelService, startModelService } from '../../examples/visibility/model-service.ts';
import { MODELS, scores, visibility } from '../../examples/visibility/pipeline.ts';
import { submitScores } from '../../examples/visibility/scores.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-visibility-'));
const calm: StandInOptions = { seed: 3, latencyMs: [0, 10] };
const QUESTIONS = 2;
/** Timeout for a busy machine. */
const PATIENCE_MS = 50_000;
let rowmill: Rowmill;
let worker: RowmillWorker;
let service: ModelService;

beforeAll(async () => {
  process.env.DATABASE_URL = database.url;
  const settings = {
    blobStore: join(folder, 'blobs'),
    pollMaxMs: 100,
    controlLookMs: 50,
    resourceSyncMs: 50,
    // An adaptive limit would adapt to the load of this machine.
    resources: { model: { concurrency: 10, adaptive: false } },
  };
  rowmill = await openRowmill({ databaseUrl: database.url, settings });
  worker = await rowmill.startWorker([visibility, scores]);
});
afterEach(() => service.stop());
afterAll(async () => {
  await worker.stop();
  await rowmill.close();
  delete process.env.DATABASE_URL;
  delete process.env.MODEL_API_URL;
  rmSync(folder, { recursive: true, force: true });
});

async function start(world: World, options: StandInOptions): Promise<void> {
  service = await startModelService(world, options);
  process.env.MODEL_API_URL = service.url;
}

async function submit(world: World, options: Omit<NewJobOptions, 'params'> = {}): Promise<string> {
  const path = join(folder, 'websites.csv');
  await writeWebsites(path, world, service.url);
  const params = { models: MODELS, questions: QUESTIONS };
  return (await rowmill.submitFile(visibility, path, { params, ...options })).jobId;
}

async function scoresOf(jobId: string): Promise<Map<unknown, Record<string, unknown>>> {
  await rowmill.whenFinished(jobId);
  const { jobId: scoresJobId } = await rowmill.createJob(scores, { idempotencyKey: `${jobId}:1:done` });
  await rowmill.whenFinished(scoresJobId);
  const found = new Map<unknown, Record<string, unknown>>();
  for await (const { input, result } of rowmill.results(scoresJobId))
    found.set(input.website, result as Record<string, unknown>);
  return found;
}

async function expectTrueScores(world: World, jobId: string): Promise<void> {
  const found = await scoresOf(jobId);
  for (const business of world.businesses) {
    const truth = trueScore(world, business, MODELS, QUESTIONS);
    const score = found.get(`${service.url}/sites/${business.slug}`)?.score ?? null;
    expect(score, business.name).toBe(truth);
  }
}

/** Every expected question once, even if several businesses share it. */
function questionsOf(world: World): string[] {
  const open = world.businesses.filter(({ site }) => site === 'open');
  return [...new Set(open.flatMap(({ trade, city }) => questionsAbout(trade, city, QUESTIONS)))];
}

/** Answer counts of each question at a model. */
function answersTo(world: World, model: string): Record<string, number>[] {
  return questionsOf(world).map((each) =>
    service.answers(model, `${each}\nName businesses, the best one first.`),
  );
}

describe('the visibility example', () => {
  it('scores every business correctly despite 429 and 5xx, and pays for each answer once', async () => {
    const world = generateWorld({ count: 40, seed: 11 });
    await start(world, { ...calm, ratePerSecond: 100, error5xxRate: 0.1 });
    const jobId = await submit(world);
    await expectTrueScores(world, jobId);
    const { counts, total } = (await rowmill.summary(jobId))!;
    const sites = (site: string) => world.businesses.filter((each) => each.site === site).length;
    expect(sites('gone') * sites('mute')).toBeGreaterThan(0);
    expect(counts).toMatchObject({ NOT_FOUND: sites('gone'), SKIPPED: sites('mute'), ERROR: 0 });
    expect(total).toBe(world.businesses.length + questionsOf(world).length * MODELS.length);
    for (const model of MODELS) {
      expect(answersTo(world, model).map((answers) => answers['200'])).toEqual(
        questionsOf(world).map(() => 1),
      );
      expect(service.answers(model)['502']).toBeGreaterThan(0);
    }
    expect((await rowmill.progress(jobId)).cost).toBe(service.billedTokens());
  });

  it('retries a model that was down, and repeats no calls of the others', async () => {
    const world = generateWorld({ count: 16, seed: 12 });
    await start(world, calm);
    const [down, ...others] = ['cirrus-pro', 'aurora-4', 'basalt-2', 'dune-mini'] as const;
    service.setDown(down, true);
    const jobId = await submit(world);
    const once = questionsOf(world).map(() => ({ '200': 1 }));
    await expect
      .poll(() => others.map((model) => answersTo(world, model)), { timeout: PATIENCE_MS })
      .toEqual(others.map(() => once));
    await expect.poll(() => service.answers(down)['503'], { timeout: PATIENCE_MS }).toBeGreaterThan(0);
    expect(service.answers(down)['200']).toBeUndefined();
    expect(await rowmill.summary(jobId)).toBeNull();

    service.setDown(down, false);
    await expectTrueScores(world, jobId);
    expect(others.map((model) => answersTo(world, model))).toEqual(others.map(() => once));
    expect(answersTo(world, down).map((answers) => answers['200'])).toEqual(questionsOf(world).map(() => 1));
    const written = world.businesses.filter(({ site }) => site === 'open').length;
    expect(service.answers('aurora-4')).toEqual({ '200': written + once.length });
  });

  it('pauses at its token budget, and continues with a larger one without repeating a call', async () => {
    const world = generateWorld({ count: 20, seed: 13 });
    await start(world, calm);
    const max = 2500;
    const jobId = await submit(world, { budget: { max } });
    await expect.poll(async () => (await rowmill.job(jobId)).state, { timeout: PATIENCE_MS }).toBe('PAUSED');
    const { pausedBecause } = await rowmill.job(jobId);
    expect(pausedBecause).toMatch(
      /^budget of 2,500 reached: [\d,]+ spent; the next call is estimated at 1[25]0$/,
    );
    await expect
      .poll(async () => (await rowmill.progress(jobId)).cost, { timeout: PATIENCE_MS })
      .toBe(service.billedTokens());
    const cost = service.billedTokens();
    // The larger estimate is 150, and less than that was left.
    expect(cost).toBeGreaterThan(max - 150);
    expect(cost).toBeLessThanOrEqual(max);

    await rowmill.setBudget(jobId, { max: 1_000_000 });
    await rowmill.resume(jobId);
    await expectTrueScores(world, jobId);
    for (const model of MODELS)
      expect(answersTo(world, model)).toEqual(questionsOf(world).map(() => ({ '200': 1 })));
    expect((await rowmill.progress(jobId)).cost).toBe(service.billedTokens());
    expect(service.billedTokens()).toBeGreaterThan(max);
  });

  it('creates one score job, however often the callback runs', async () => {
    const world = generateWorld({ count: 10, seed: 14 });
    await start(world, calm);
    const jobId = await submit(world);
    const found = await scoresOf(jobId);
    const count = async () =>
      (await database.query(`select 1 from jobs where pipeline = 'visibility-scores'`)).length;
    const before = await count();
    const context = { jobId, idempotencyKey: `${jobId}:1:done` };
    await submitScores(null, context as Parameters<typeof submitScores>[1]);
    expect(await count()).toBe(before);
    expect(await scoresOf(jobId)).toEqual(found);
    expect(found.size).toBe(world.businesses.filter(({ site }) => site === 'open').length);
  });
});
