// Calls of language models by the AI SDK, for handlers: with the signal and idempotency key of the row, cost from
// usage, one repair of structured output, and errors that Rowmill classifies. The SDK never retries: Rowmill does, and
// its limits would not see the SDK's retries.
import type * as Sdk from 'ai';
import { classifyError } from '../core/errors/classify-error.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { type ChosenModel, chooseModel } from './choose-model.ts';
import { loadSdk } from './load-sdk.ts';
import { isRefused, modelFailure, nextModel, noAnswer, reasonOf, unusableOutput } from './model-failure.ts';
import { costOf, type ModelPrice, type TokenUsage } from './model-price.ts';

type LanguageModel = Exclude<Sdk.LanguageModel, string>;
type EmbeddingModel = Exclude<Sdk.EmbeddingModel, string>;

/** The part of a handler's context that a call uses. The shared context of `runMany` has it too. */
export interface AiContext {
  readonly signal: AbortSignal;
  readonly idempotencyKey?: string;
  readonly strategy?: string | undefined;
  cost(amount: number): void;
}

export interface AiOptions<Name extends string, EmbeddingName extends string> {
  /** Language models by name. With the names as `strategies` of the pipeline, in this order, each is the fallback of the one before. */
  readonly models: Readonly<Record<Name, LanguageModel>>;
  /** Embedding models by name. */
  readonly embeddings?: Readonly<Record<EmbeddingName, EmbeddingModel>>;
  /**
   * Time limit of a call. A model that gives no answer in time is failed over like one that fails. The time limit of the
   * phase has to be longer than that of all calls of a handler: a row that exceeds it keeps its model.
   */
  readonly timeoutMs?: number;
  /** Prices by name or model id. Without them no cost is reported, and the estimate of the phase counts. */
  readonly prices?: Readonly<Record<string, ModelPrice>>;
}

type Settings = Pick<
  Parameters<typeof Sdk.generateText>[0],
  'system' | 'maxOutputTokens' | 'temperature' | 'topP' | 'seed' | 'stopSequences' | 'providerOptions'
>;

/** Either a prompt or messages. */
type Question =
  | { readonly prompt: string; readonly messages?: never }
  | { readonly messages: Sdk.ModelMessage[]; readonly prompt?: never };

export type TextCall<Name extends string> = Settings &
  Question & {
    /** A name from `models`, or a model. Default: the model of the strategy, otherwise the first. */
    readonly model?: Name | LanguageModel;
  };

export type ObjectCall<Name extends string, Schema> = TextCall<Name> & {
  readonly schema: Schema;
  readonly schemaName?: string;
  readonly schemaDescription?: string;
};

export interface EmbeddingCall<Name extends string> {
  readonly values: string[];
  /** A name from `embeddings`, or a model. Default: the model of the strategy, otherwise the first. */
  readonly model?: Name | EmbeddingModel;
  readonly providerOptions?: Settings['providerOptions'];
}

export interface Ai<Name extends string = string, EmbeddingName extends string = string> {
  generateText(
    context: AiContext,
    call: TextCall<Name>,
  ): Promise<Awaited<ReturnType<typeof Sdk.generateText>>>;
  /** Output that does not match the schema is returned to the model once, with the reason. Both calls are paid. */
  generateObject<Schema extends Sdk.FlexibleSchema<unknown>>(
    context: AiContext,
    call: ObjectCall<Name, Schema>,
  ): Promise<Sdk.GenerateObjectResult<Sdk.InferSchema<Schema>>>;
  embedMany(context: AiContext, call: EmbeddingCall<EmbeddingName>): Promise<Sdk.EmbedManyResult>;
}

interface SharedOptions {
  abortSignal: AbortSignal;
  maxRetries: 0;
  headers: Record<string, string>;
}

const MAX_TIMER_MS = 2_147_483_647;
const isTimerMs = (ms: number): boolean => Number.isInteger(ms) && ms >= 1 && ms <= MAX_TIMER_MS;

export function createAi<Name extends string, EmbeddingName extends string = never>({
  models,
  embeddings,
  timeoutMs,
  prices,
}: AiOptions<Name, EmbeddingName>): Ai<Name, EmbeddingName> {
  const sdk = loadSdk();
  /** Calls that each context has made, because each request needs its own idempotency key. */
  const callCounts = new WeakMap<AiContext, number>();

  function headersFor(
    context: AiContext,
    { name, isByStrategy }: ChosenModel<unknown>,
  ): Record<string, string> {
    if (context.idempotencyKey === undefined) return {};
    const count = (callCounts.get(context) ?? 0) + 1;
    callCounts.set(context, count);
    const parts = [isByStrategy ? encodeURIComponent(name) : '', count > 1 ? String(count) : ''];
    return { 'idempotency-key': [context.idempotencyKey, ...parts.filter(Boolean)].join(':') };
  }

  /** Undefined without `prices`. */
  function priceOf({
    name,
    model,
  }: {
    name: string;
    model: { readonly modelId: string };
  }): ModelPrice | undefined {
    const price = prices?.[name] ?? prices?.[model.modelId];
    if (price !== undefined || prices === undefined) return price;
    throw new RowmillError('PIPELINE_INVALID', `expected prices of createAi to have ${name}, got none`, {
      hint: 'Add it to `prices`, such as { input: 2, output: 8 } per million tokens. See docs/ai.md.',
    });
  }
  // Mistakes are reported when the pipeline is loaded, before any call is paid.
  if (timeoutMs !== undefined && !isTimerMs(timeoutMs))
    throw new RowmillError(
      'PIPELINE_INVALID',
      `expected timeoutMs of createAi to be a whole number from 1 to ${MAX_TIMER_MS}, got ${timeoutMs}`,
    );
  for (const [name, model] of Object.entries<LanguageModel | EmbeddingModel>({ ...models, ...embeddings }))
    priceOf({ name, model });

  async function pay<Model extends LanguageModel | EmbeddingModel, Answer>(
    context: AiContext,
    chosen: ChosenModel<Model>,
    send: (shared: SharedOptions) => Promise<Answer>,
    usageOf: (answer: Answer) => TokenUsage,
  ): Promise<Answer> {
    const price = priceOf(chosen);
    const report = (usage: TokenUsage): void => {
      if (price) context.cost(costOf(price, usage));
    };
    const timeLimit = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
    try {
      const answer = await send({
        abortSignal: timeLimit ? AbortSignal.any([context.signal, timeLimit]) : context.signal,
        maxRetries: 0,
        headers: headersFor(context, chosen),
      });
      report(usageOf(answer));
      return answer;
    } catch (error) {
      if (timeLimit?.aborted && !context.signal.aborted) throw noAnswer(timeoutMs!);
      // An answer that does not match the schema is billed. For a call without an answer the cost is unknown, so its
      // estimate counts.
      if (sdk.NoObjectGeneratedError.isInstance(error)) {
        if (error.usage) report(tokensOf(error.usage));
      } else if (price && isRefused(error)) context.cost(0);
      throw error;
    }
  }

  /** Errors of an aborted call stay as they are: the worker has already decided about the row. */
  function explain(error: unknown, context: AiContext, { name, hasNext }: ChosenModel<unknown>): unknown {
    if (context.signal.aborted || error instanceof RowmillError) return error;
    const failure = sdk.NoObjectGeneratedError.isInstance(error)
      ? unusableOutput(error, name)
      : modelFailure(error, name);
    // A rate limit is waited for; any other failure is a reason to ask the next model.
    const isThrottled = classifyError(failure, 0).class === 'throttled';
    return hasNext && !isThrottled ? nextModel(failure) : failure;
  }

  async function run<Model, Answer>(
    context: AiContext,
    chosen: ChosenModel<Model>,
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      throw explain(error, context, chosen);
    }
  }

  return {
    generateText(context, { model, ...call }) {
      const chosen = chooseModel<LanguageModel>(models, model, context.strategy);
      return run(context, chosen, () =>
        pay(
          context,
          chosen,
          (shared) => sdk.generateText({ ...call, ...shared, model: chosen.model }),
          ({ totalUsage }) => tokensOf(totalUsage),
        ),
      );
    },

    generateObject<Schema extends Sdk.FlexibleSchema<unknown>>(
      context: AiContext,
      { model, ...call }: ObjectCall<Name, Schema>,
    ) {
      const chosen = chooseModel<LanguageModel>(models, model, context.strategy);
      type Result = Sdk.GenerateObjectResult<Sdk.InferSchema<Schema>>;
      const generate = sdk.generateObject as (options: object) => Promise<Result>;
      const ask = (question: object): Promise<Result> =>
        pay(
          context,
          chosen,
          (shared) => generate({ ...question, ...shared, model: chosen.model }),
          ({ usage }) => tokensOf(usage),
        );
      return run(context, chosen, async () => {
        try {
          return await ask(call);
        } catch (error) {
          if (!sdk.NoObjectGeneratedError.isInstance(error) || !error.text) throw error;
          return ask(repairOf(call, error.text, reasonOf(error)));
        }
      });
    },

    embedMany(context, { model, ...call }) {
      const chosen = chooseModel<EmbeddingModel>(embeddings ?? {}, model, context.strategy);
      return run(context, chosen, async () => {
        // The SDK splits longer lists into several requests, which must not share a key.
        const most = (await chosen.model.maxEmbeddingsPerCall) ?? Number.POSITIVE_INFINITY;
        const isOneRequest = call.values.length <= most;
        return pay(
          context,
          chosen,
          ({ headers, ...shared }) =>
            sdk.embedMany({
              ...call,
              ...shared,
              headers: isOneRequest ? headers : {},
              model: chosen.model,
            } as Parameters<typeof Sdk.embedMany>[0]),
          ({ usage }) => ({ input: usage.tokens || 0, cachedInput: 0, output: 0 }),
        );
      });
    },
  };
}

function tokensOf({
  inputTokens,
  outputTokens,
  cachedInputTokens,
  ...usage
}: Sdk.LanguageModelUsage): TokenUsage {
  return {
    input: inputTokens ?? 0,
    cachedInput: usage.inputTokenDetails?.cacheReadTokens ?? cachedInputTokens ?? 0,
    output: outputTokens ?? 0,
  };
}

/** The same question, followed by the unusable answer and the reason. */
function repairOf(call: Question, answer: string, reason: string): object {
  const { prompt, messages, ...rest } = call;
  const content = `The answer cannot be used: ${reason}\nReply with the corrected JSON only.`;
  return {
    ...rest,
    messages: [
      ...(messages ?? [{ role: 'user', content: prompt }]),
      { role: 'assistant', content: answer },
      { role: 'user', content },
    ],
  };
}
