// rowmill/ai through the real AI SDK, against a local server with the OpenAI-compatible interface.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AiContext, createAi } from '../../src/ai/index.ts';
import { loadSdk } from '../../src/ai/load-sdk.ts';
import { classifyError } from '../../src/core/errors/classify-error.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { runPipeline } from '../../src/testing/run-pipeline.ts';
import { type ChatStandIn, startChatStandIn } from './chat-stand-in.ts';

let server: ChatStandIn;
beforeEach(async () => {
  server = await startChatStandIn();
});
afterEach(() => server.stop());

function openAi(url = server.url) {
  const provider = createOpenAICompatible({
    name: 'stand-in',
    baseURL: url,
    supportsStructuredOutputs: true,
  });
  return createAi({
    models: { first: provider('model-a'), second: provider('model-b') },
    embeddings: { small: provider.embeddingModel('embed') },
    prices: {
      first: { input: 2, output: 8 },
      'model-b': { input: 1_000_000, cachedInput: 500_000, output: 1_000_000 },
      embed: { input: 1_000_000 },
    },
  });
}

function contextOf(more: Partial<AiContext> = {}): AiContext & { costs: number[] } {
  const costs: number[] = [];
  const signal = new AbortController().signal;
  return { signal, idempotencyKey: 'row-1', cost: (amount) => void costs.push(amount), costs, ...more };
}

const priced = (first: number): number => (first * (10 * 2 + 5 * 8)) / 1_000_000;
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable('the call must fail'),
    (error: unknown) => classifyError(error, 0),
  );

describe('generateText', () => {
  it('answers, reports the cost and sends the idempotency key of the row', async () => {
    server.queue('model-a', 'Hello', 'again');
    const context = contextOf();
    const ai = openAi();
    expect((await ai.generateText(context, { prompt: 'Hi' })).text).toBe('Hello');
    expect(context.costs).toEqual([priced(1)]);
    await ai.generateText(context, { prompt: 'Hi again' });
    expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['row-1', 'row-1:2']);
  });

  it('does not retry: a refusal costs nothing and carries the wait of the provider', async () => {
    server.queue('model-a', {
      status: 429,
      headers: {
        'x-ratelimit-remaining-requests': '3',
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '1m2.5s',
      },
    });
    const context = contextOf();
    expect(await failureOf(openAi().generateText(context, { prompt: 'Hi' }))).toEqual({
      class: 'throttled',
      message: 'first: refused',
      retryAfterMs: 62_500,
    });
    expect(context.costs).toEqual([0]);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    [429, { 'retry-after': '7' }, '', 'throttled', 7000],
    [429, { 'retry-after-ms': '250', 'retry-after': '7' }, '', 'throttled', 250],
    [429, { 'retry-after': 'Thu, 01 Jan 1970 00:00:09 GMT' }, '', 'throttled', 9000],
    [429, { 'x-ratelimit-reset-requests': '1h', 'x-ratelimit-reset-tokens': '20ms' }, '', 'throttled', 20],
    [429, { 'x-ratelimit-reset-requests': 'soon' }, '', 'throttled', null],
    [529, {}, '', 'overloaded', null],
    [401, {}, '', 'permanent', null],
    [429, {}, 'insufficient_quota', 'permanent', null],
  ])('classifies %d %j %s as %s', async (status, headers, code, expected, retryAfterMs) => {
    server.queue('model-a', { status, headers: headers as Record<string, string>, code });
    const failure = await failureOf(openAi().generateText(contextOf(), { prompt: 'Hi' }));
    expect(failure).toMatchObject({ class: expected, retryAfterMs });
  });

  /** `date` is the clock of the provider. */
  const date = 'Wed, 18 Nov 2026 12:00:00 GMT';
  it.each([
    [
      'all used-up windows of Anthropic',
      {
        date,
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '2026-11-18T12:00:02Z',
        'anthropic-ratelimit-input-tokens-remaining': '0',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-18T12:00:31Z',
        'anthropic-ratelimit-output-tokens-remaining': '400',
        'anthropic-ratelimit-output-tokens-reset': '2026-11-18T12:01:00Z',
      },
      undefined,
      31_000,
    ],
    [
      'Retry-After of Anthropic before its windows',
      { date, 'retry-after': '12', 'anthropic-ratelimit-tokens-reset': '2026-11-18T12:01:00Z' },
      undefined,
      12_000,
    ],
    [
      'nothing for a reset that is not a time',
      { date, 'anthropic-ratelimit-tokens-reset': 'soon' },
      undefined,
      null,
    ],
    [
      'RetryInfo of Google',
      {},
      [
        { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [] },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '22.5s' },
      ],
      22_500,
    ],
    ['nothing for a broken RetryInfo', {}, { '@type': 'google.rpc.RetryInfo', retryDelay: 5 }, null],
  ])('waits for %s', async (_what, headers, details, retryAfterMs) => {
    server.queue('model-a', { status: 429, headers: headers as Record<string, string>, details });
    const failure = await failureOf(openAi().generateText(contextOf(), { prompt: 'Hi' }));
    expect(failure).toMatchObject({ class: 'throttled', retryAfterMs });
  });

  it('counts cached input at its own price', async () => {
    server.queue('model-b', { text: 'Hello', cachedTokens: 4 });
    const context = contextOf();
    await openAi().generateText(context, { prompt: 'Hi', model: 'second' });
    expect(context.costs).toEqual([6 + 4 / 2 + 5]);
  });

  it('classifies a failed connection as overloaded, and reports no cost', async () => {
    const stopped = await startChatStandIn();
    await stopped.stop();
    const context = contextOf();
    const failure = await failureOf(openAi(stopped.url).generateText(context, { prompt: 'Hi' }));
    expect(failure.class).toBe('overloaded');
    expect(context.costs).toEqual([]);
  });

  it('aborts with the signal of the row, and reports no cost', async () => {
    server.queue('model-a', 'hang');
    const stop = new AbortController();
    const context = contextOf({ signal: stop.signal });
    const asked = server.nextRequest();
    const call = openAi().generateText(context, { prompt: 'Hi' });
    const failed = expect(call).rejects.toThrow('lease lost');
    await asked;
    stop.abort(new Error('lease lost'));
    await failed;
    expect(context.costs).toEqual([]);
  });
});

describe('generateObject', () => {
  const schema = z.object({ price: z.number() });

  it('repairs an answer that does not match the schema, once, and counts both calls', async () => {
    server.queue('model-a', '{"price":"ten"}', '{"price":10}');
    const context = contextOf();
    const { object } = await openAi().generateObject(context, { prompt: 'What does it cost?', schema });
    expect(object.price).toBe(10);
    expect(context.costs).toEqual([priced(1), priced(1)]);
    const [first, repair] = server.requests;
    expect(repair!.headers['idempotency-key']).not.toBe(first!.headers['idempotency-key']);
    const sent = repair!.body.messages!.filter(({ role }) => role !== 'system');
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(sent[2]!.content).toContain('price: Invalid input: expected number, received string');
  });

  it('fails as invalid if the repair does not match either', async () => {
    server.queue('model-a', 'no JSON', '{"price":null}');
    const context = contextOf();
    const failure = await failureOf(openAi().generateObject(context, { prompt: 'What?', schema }));
    expect(failure.class).toBe('invalid');
    expect(failure.message).toMatch(/^first: the output does not match the schema after one repair: price: /);
    expect(context.costs).toEqual([priced(1), priced(1)]);
  });
});

describe('embedMany', () => {
  it('returns a vector per value and reports the tokens, also in runMany', async () => {
    const { idempotencyKey: _, ...context } = contextOf();
    const { embeddings } = await openAi().embedMany(context, { values: ['one', 'three'] });
    expect(embeddings).toEqual([
      [3, 1],
      [5, 1],
    ]);
    expect(context.costs).toEqual([8]);
  });
});

describe('the strategies of a pipeline', () => {
  it('are the models: the next one is asked when one fails, and the last error is kept', async () => {
    const ai = openAi();
    const pipeline = definePipeline({
      name: 'ask',
      strategies: ['first', 'second'],
      phases: [
        {
          name: 'ask',
          run: async (_row, context) => (await ai.generateText(context, { prompt: 'Hi' })).text,
        },
      ],
    });
    server.queue('model-a', { status: 503 }, { status: 503 });
    server.queue('model-b', 'from b', { status: 401, message: 'no such key' });
    const answered = await runPipeline(pipeline, [{}]);
    expect(answered.results[0]).toMatchObject({ status: 'DONE', result: 'from b' });
    expect(server.requests.map(({ body }) => body.model)).toEqual(['model-a', 'model-b']);
    const failed = await runPipeline(pipeline, [{}]);
    expect(failed.results[0]).toMatchObject({ status: 'ERROR', error: 'second: no such key' });
  });

  it('are asked in turn if one does not answer within the time limit of a call', async () => {
    const provider = createOpenAICompatible({ name: 'stand-in', baseURL: server.url });
    const ai = createAi({
      models: { first: provider('model-a'), second: provider('model-b') },
      timeoutMs: 2000,
    });
    server.queue('model-a', 'hang');
    const failure = await failureOf(ai.generateText(contextOf(), { prompt: 'Hi' }));
    expect(failure).toMatchObject({ class: 'timeout', message: 'first: no answer within 2000 ms' });
    server.queue('model-a', 'hang');
    server.queue('model-b', 'from b');
    const pipeline = definePipeline({
      name: 'ask',
      strategies: ['first', 'second'],
      phases: [
        {
          name: 'ask',
          run: async (_row, context) => (await ai.generateText(context, { prompt: 'Hi' })).text,
        },
      ],
    });
    const answered = await runPipeline(pipeline, [{}], { patienceMs: 10_000 });
    expect(answered.results[0]).toMatchObject({ status: 'DONE', result: 'from b', attempts: 2 });
  });
});

describe('mistakes', () => {
  it('are reported when the pipeline is loaded', () => {
    const provider = createOpenAICompatible({ name: 'stand-in', baseURL: server.url });
    const models = { first: provider('model-a') };
    expect(() => createAi({ models, prices: {} })).toThrow(
      'expected prices of createAi to have first, got none',
    );
    for (const timeoutMs of [Number.NaN, 0, 1.5, 2 ** 31])
      expect(() => createAi({ models, timeoutMs })).toThrow(
        `expected timeoutMs of createAi to be a whole number from 1 to 2147483647, got ${timeoutMs}`,
      );
  });

  it('include a missing SDK', () => {
    expect(() => loadSdk('file:///nowhere/module.js')).toThrow(
      'expected the package ai, the AI SDK, to be installed for rowmill/ai, got none',
    );
  });
});
