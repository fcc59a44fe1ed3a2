// How visible is a business in the answers of language models? Its website says what it is, a model writes questions that
// customers could ask, several models answer each of them, and the places in their answers make the score.
//
// A question to a model is a row of its own: it is stored, paid for and tried again by itself. A model that fails repeats
// nothing of the others, and two businesses with the same question pay for it once.
import { definePipeline, httpError, type ItemContext, notFound, resource, skip } from 'rowmill';
import { z } from 'zod';
import { type Facts, submitScores } from './scores.ts';

export { scores } from './scores.ts';

const WRITER = 'aurora-4';
export const MODELS = ['aurora-4', 'basalt-2', 'cirrus-pro', 'dune-mini'];

const website = z.object({ website: z.url() });
const question = z.object({ question: z.string(), model: z.string() });
export type Row = z.infer<typeof website> | z.infer<typeof question>;

export const visibility = definePipeline({
  name: 'visibility',
  input: z.union([website, question], { error: 'expected the address of a website' }),
  params: z.object({
    models: z.array(z.string()).min(1).default(MODELS),
    questions: z.number().int().min(1).max(10).default(3),
  }),
  key: 'website',
  // Each model has these limits for itself, over all workers; a model that refuses or is down gets less.
  resources: { model: { concurrency: 10 } },
  phases: [
    {
      name: 'analyse',
      concurrency: 10,
      timeoutMs: 10_000,
      retry: { not_found: { maxAttempts: 1 } },
      run: async (row, { signal }) => {
        // Emitted rows begin at the first phase, too: what is about websites lets questions pass.
        if ('question' in row) return null;
        const response = await fetch(row.website, { signal });
        if (response.status === 404) return notFound(`${row.website} is gone`);
        const facts = factsOf(await checked(response).text());
        return facts ?? skip('the page does not say what it is');
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
          `Write ${params.questions} questions that somebody who looks for a ${facts.trade} in ${facts.city} could ask, one per line.`,
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
      // In tokens: so many are set aside before the call, and `chat` tells how many they really were.
      cost: (row) => ('question' in row ? 120 : 0),
      // A model that is down for an hour is waited for.
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

async function chat(model: string, content: string, context: ItemContext): Promise<string> {
  const api = process.env.MODEL_API_URL ?? 'http://127.0.0.1:8080';
  const response = await fetch(`${api}/v1/chat/completions`, {
    method: 'POST',
    signal: context.signal,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${process.env.MODEL_API_KEY ?? ''}`,
      'idempotency-key': context.idempotencyKey,
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  // A call that is refused is not billed; of one that never answers nobody knows, and its estimate counts.
  if (!response.ok) context.cost(0);
  const { choices, usage } = (await checked(response).json()) as {
    choices: { message: { content: string } }[];
    usage: { total_tokens: number };
  };
  context.cost(usage.total_tokens);
  return choices[0]!.message.content;
}

/** 429 waits as long as Retry-After says, 5xx is tried again later. */
function checked(response: Response): Response {
  if (!response.ok) throw httpError(response);
  return response;
}
