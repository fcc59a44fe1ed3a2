// Scores each business after the last answer: the end of the question job means that all answers are in. Scores are a
// separate job with one row per business, so they have their own grid and file.
import { type CallbackContext, definePipeline, openRowmill } from 'rowmill';
import { z } from 'zod';
import type { Row } from './pipeline.ts';

export interface Facts {
  name: string;
  trade: string;
  city: string;
}

type Place = Facts & { questions: string[] };
type Answer = { model: string; names: string[] };

export const scores = definePipeline({
  name: 'visibility-scores',
  input: z.object({
    website: z.string(),
    name: z.string(),
    answers: z.array(z.object({ model: z.string(), names: z.array(z.string()) })),
  }),
  phases: [
    {
      name: 'score',
      run: ({ name, answers }) => {
        const ranks = answers.map(({ model, names }) => ({ model, rank: names.indexOf(name) + 1 }));
        const models = [...new Set(ranks.map(({ model }) => model))].sort();
        const perModel = models.map((each) => [each, scoreOf(ranks.filter(({ model }) => model === each))]);
        return {
          score: scoreOf(ranks),
          answered: ranks.length,
          named: ranks.filter(({ rank }) => rank > 0).length,
          ...(Object.fromEntries(perModel) as Record<string, number | null>),
        };
      },
    },
  ],
});

/**
 * Mean of 1/rank, from 0 to 100; null without answers. Computed in whole thousandths, so that the order of rows does
 * not matter.
 */
function scoreOf(ranks: readonly { rank: number }[]): number | null {
  const points = ranks.reduce((sum, { rank }) => sum + (rank === 0 ? 0 : Math.round(1000 / rank)), 0);
  return ranks.length === 0 ? null : Math.round(points / ranks.length) / 10;
}

/** Called at least once per generation with the same key, which makes it one job. */
export async function submitScores(
  _summary: unknown,
  { jobId, idempotencyKey }: CallbackContext,
): Promise<void> {
  const rowmill = await openRowmill({ databaseUrl: process.env.DATABASE_URL! });
  try {
    const places = new Map<string, Place>();
    const answersTo = new Map<string, Answer[]>();
    for await (const { input, status, result } of rowmill.results(jobId)) {
      if (status !== 'DONE') continue;
      const row = input as Row;
      if ('website' in row) places.set(row.website, result as Place);
      else {
        const { names } = result as Pick<Answer, 'names'>;
        answersTo.set(row.question, [...(answersTo.get(row.question) ?? []), { model: row.model, names }]);
      }
    }
    const rows = Array.from(places, ([website, { questions, ...facts }]) => ({
      website,
      ...facts,
      answers: questions.flatMap((each) => answersTo.get(each) ?? []),
    }));
    await rowmill.submit(scores, rows, { idempotencyKey, name: 'visibility scores' });
  } finally {
    await rowmill.close();
  }
}
