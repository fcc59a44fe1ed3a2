// A pipeline with the published limits of a model, against a local server with the OpenAI-compatible interface.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { expect, test } from 'vitest';
import { createAi, providerLimits } from '../../src/ai/index.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { runPipelineOnDatabase } from '../../src/testing/run-pipeline-on-database.ts';
import { stopAfterTest } from '../support/stop-after-test.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { startChatStandIn } from './chat-stand-in.ts';

const database = useTestDatabase();
const ROWS = 15;

test('calls of a model start at the rate of its tier', async () => {
  const server = await startChatStandIn();
  stopAfterTest(() => server.stop());
  const provider = createOpenAICompatible({ name: 'stand-in', baseURL: server.url });
  const ai = createAi({ models: { model: provider('gpt-5.5') } });
  const call = { inputTokens: 1500, outputTokens: 500 };
  const limits = providerLimits('openai', 'tier-1', 'gpt-5.5', call);
  expect(limits.ratePerSecond * 60).toBeCloseTo(250);
  const pipeline = definePipeline({
    name: 'tier',
    resources: { model: limits },
    phases: [
      {
        name: 'ask',
        resources: ['model'],
        concurrency: ROWS,
        run: async (_row, context) => (await ai.generateText(context, { prompt: 'Hi' })).text,
      },
    ],
  });
  server.queue('gpt-5.5', ...Array.from({ length: ROWS }, () => 'answer'));
  const rows = Array.from({ length: ROWS }, (_, n) => ({ n }));
  const { results } = await runPipelineOnDatabase(pipeline, rows, { databaseUrl: database.url });
  expect(results.map(({ result }) => result)).toEqual(rows.map(() => 'answer'));
  const [first, last] = [server.requests.at(0)!.atMs, server.requests.at(-1)!.atMs];
  // Two calls may start ahead of their turn: the rate of a second is exceeded by at most one, plus one per worker.
  expect(last - first).toBeGreaterThan(((ROWS - 3) / limits.ratePerSecond) * 1000);
});
