// `npm run example visibility`: generates businesses, starts the stand-in for their websites and four models, takes
// one of the models down for a while, and compares scores and tokens with what the generator and the service know.
import { createWriteStream } from 'node:fs';
import { pipeline as pipe } from 'node:stream/promises';
import { allResults, printProgress, withEmbeddedRowmill, withWorker } from '../with-embedded-rowmill.ts';
import { generateWorld, trueScore, writeWebsites } from './generate-businesses.ts';
import { startModelService } from './model-service.ts';
import { MODELS, scores, visibility } from './pipeline.ts';

const QUESTIONS = 3;
const DOWN = 'cirrus-pro';

export async function run(args: readonly string[]): Promise<void> {
  const isLarge = args.includes('--large');
  const world = generateWorld({ count: isLarge ? 3000 : 60, seed: 7 });
  const service = await startModelService(world, {
    seed: 7,
    latencyMs: [20, 120],
    ratePerSecond: 60,
    error5xxRate: 0.02,
    hangRate: isLarge ? 0.001 : 0,
  });
  process.env.MODEL_API_URL = service.url;
  try {
    await withEmbeddedRowmill('visibility', async ({ rowmill }) => {
      await writeWebsites('out/websites.csv', world, service.url);
      console.log(`out/websites.csv: ${world.businesses.length} websites; models: ${MODELS.join(', ')}`);
      console.log(`${DOWN} is down for the first ${isLarge ? 20 : 4} seconds`);
      service.setDown(DOWN, true);
      const up = setTimeout(() => service.setDown(DOWN, false), isLarge ? 20_000 : 4000);
      const startedMs = performance.now();
      await withWorker(rowmill, [visibility, scores], async () => {
        const { jobId } = await rowmill.submitFile(visibility, 'out/websites.csv', {
          params: { models: MODELS, questions: QUESTIONS },
          budget: { max: 50_000_000 },
          again: true,
        });
        await printProgress(rowmill, jobId, 'websites and questions');
        const { counts, total } = (await rowmill.summary(jobId))!;
        console.log(`${total} rows: ${counts.DONE} done, ${counts.NOT_FOUND} gone, ${counts.SKIPPED} mute`);
        const { cost } = await rowmill.progress(jobId);
        // The callback may still be running; the same key yields the same job.
        const { jobId: scoresJobId } = await rowmill.createJob(scores, { idempotencyKey: `${jobId}:1:done` });
        await rowmill.whenFinished(scoresJobId);
        const seconds = (performance.now() - startedMs) / 1000;

        await pipe(rowmill.export(scoresJobId, { format: 'xlsx' }), createWriteStream('out/scores.xlsx'));
        const rows = await allResults(rowmill, scoresJobId, scores);
        printBoard(rows.map(({ input, result }) => ({ ...input, ...result })));
        for (const model of MODELS)
          console.log(`  ${model.padEnd(11)}${JSON.stringify(service.answers(model))}`);
        const unanswered = MODELS.reduce((sum, model) => sum + (service.answers(model).hung ?? 0), 0);
        console.log(
          `${seconds.toFixed(1)} s; ${cost} tokens, of which ${service.billedTokens()} were billed; ` +
            `the rest are the estimates of ${unanswered} calls that were never answered`,
        );

        const byWebsite = new Map(rows.map(({ input, result }) => [input.website, result]));
        const wrong = world.businesses.filter((business) => {
          const { score = null } = (byWebsite.get(`${service.url}/sites/${business.slug}`) ?? {}) as {
            score?: number | null;
          };
          return score !== trueScore(world, business, MODELS, QUESTIONS);
        });
        const twice = MODELS.flatMap((model) =>
          service
            .subjects(model)
            .filter(
              (subject) => !subject.startsWith('Write ') && service.answers(model, subject)['200'] !== 1,
            ),
        );
        console.log(`scores that differ from the generator's: ${wrong.length}`);
        console.log(`questions not answered exactly once: ${twice.length}`);
        const isPaid = unanswered > 0 ? cost > service.billedTokens() : cost === service.billedTokens();
        if (wrong.length + twice.length > 0 || !isPaid) process.exitCode = 1;
      });
      clearTimeout(up);
    });
  } finally {
    await service.stop();
  }
}

function printBoard(rows: Record<string, unknown>[]): void {
  const best = rows.toSorted((a, b) => Number(b.score) - Number(a.score)).slice(0, 5);
  console.log('\nout/scores.xlsx, the most visible first:');
  for (const { score, name, city, named, answered } of best)
    console.log(`  ${String(score).padStart(5)}  ${name}, ${city}: named in ${named} of ${answered} answers`);
  console.log('');
}
