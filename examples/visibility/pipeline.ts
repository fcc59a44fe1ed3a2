// Scores how visible a business is in the answers of language models. Its website describes the business, a model
// writes questions that customers could ask, several models answer each of them, and the ranks in their answers make
// the score. Each question to a model is a separate row: it is stored, paid for and retried separately. A failing
// model does not repeat the calls of others, and two businesses with the same question pay for it once.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { definePipeline, httpError, type ItemContext, notFound, resource, skip } from 'rowmill';
import { createAi } from 'rowmill/ai';
import { z } from 'zod';
import { type Facts, submitScores } from './scores.ts';

export { scores } from './scores.ts';

const WRITER = 'aurora-4';
export const MODELS = ['aurora-4', 'basalt-2', 'cirrus-pro', 'dune-mini'];

// At a price of one per token, costs and budgets are in tokens.
const PER_TOKEN = { input: 1_000_000, output: 1_000_000 };
const ai = createAi({ models: {}, prices: Object.fromEntries(MODELS.map((model) => [model, PER_TOKEN])) });

const website = z.object({ website: z.url() });
const question = z.object({ question: z.string(), model: z.string() });
export type Row = z.infer<typeof website> | z.infer<typeof question>;

export const visibility = definePipeline({
  name: 'visibility',
  input: z.union([website, question], { error: 'expected the address of a website' }),
  params: z.object({
    models: z.array(z.enum(MODELS)).min(1).default(MODELS),
    questions: z.number().int().min(1).max(10).default(3),
  }),
  key: 'website',
  // Each model has its own limits over all workers. A model that refuses calls or is down gets fewer.
  resources: { model: { concurrency: 10 } },
  phases: [
    {
      name: 'analyse',
      concurrency: 10,
      timeoutMs: 10_000,
      retry: { not_found: { maxAttempts: 1 } },
      run: async (row, { signal }) => {
        // Emitted rows start at the first phase too, so phases for websites pass questions on.
        if ('question' in row) return null;
        const response = await fetch(row.website, { signal });
        if (response.status === 404) return notFound(`${row.website} is gone`);
        if (!response.ok) throw httpError(response);
        const facts = factsOf(await response.text());
        return facts ?? skip('the page does not describe the business');
      },
    },
    {
      name: 'questions',
      concurrency: 10,
      timeoutMs: 20_000,
      resources: [resource('model', (row: Row) => ('question' in row ? null : WRITER))],
      cost: (row) => ('question' in row ? 0 : 150),
      run: async (_row, context) => {
        const { previous: facts, params, emit } = context;
        if (facts === null) return null;
        const text = await chat(
          WRITER,
          `Write ${params.questions} questions that someone who looks for a ${facts.trade} in ${facts.city} could ask, one per line.`,
          context,
        );
        const questions = text.split('\n').filter((line) => line.trim() !== '');
        for (const each of questions)
          for (const model of params.models) emit(`${model}: ${each}`, { question: each, model });
        return { ...facts, questions };
      },
    },
    {
      name: 'answer',
      concurrency: 10,
      timeoutMs: 20_000,
      resources: [resource('model', (row: Row) => ('question' in row ? row.model : null))],
      // In tokens: this estimate is reserved before the call, and `rowmill/ai` reports the actual usage.
      cost: (row) => ('question' in row ? 120 : 0),
      // Enough attempts to wait for a model that is down for an hour.
      retry: { overloaded: { maxAttempts: 500 }, timeout: { maxAttempts: 500 } },
      run: async (row, context) => {
        if (!('question' in row)) return context.previous;
        const text = await chat(row.model, `${row.question}\nName businesses, the best one first.`, context);
        return { names: Array.from(text.matchAll(/^\d+\. (.+)$/gm), ([, name]) => name!) };
      },
    },
  ],
  onDone: submitScores,
});

function factsOf(page: string): Facts | null {
  const json = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(page)?.[1];
  if (json === undefined) return null;
  const { name, description, address } = JSON.parse(json) as {
    name: string;
    description: string;
    address: { addressLocality: string };
  };
  return { name, trade: description, city: address.addressLocality };
}

async function chat(model: string, prompt: string, context: ItemContext): Promise<string> {
  const { text } = await ai.generateText(context, { model: modelNamed(model), prompt });
  return text;
}

/** The environment is read for each call, because the tests use several services. */
function modelNamed(name: string) {
  const api = process.env.MODEL_API_URL ?? 'http://127.0.0.1:8080';
  const apiKey = process.env.MODEL_API_KEY ?? '';
  return createOpenAICompatible({ name: 'models', baseURL: `${api}/v1`, apiKey })(name);
}
