// Request limits that providers publish for their models by usage tier, as limits of a resource. The numbers come from
// public copies of the providers' pages, found in autumn 2026. Limits of an account can differ; refusals adapt the rate.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { didYouMean } from '../core/errors/did-you-mean.ts';

/** Per minute. A provider limits all tokens together, or those of input and output separately. */
interface PublishedLimits {
  readonly requests: number;
  readonly tokens?: number;
  readonly input?: number;
  readonly output?: number;
}

const all = (requests: number, tokens: number): PublishedLimits => ({ requests, tokens });
const each = (requests: number, input: number, output: number): PublishedLimits => ({
  requests,
  input,
  output,
});

// https://developers.openai.com/api/docs/models/<model>, section "Rate limits", standard context.
const GPT = {
  'tier-1': all(500, 500_000),
  'tier-2': all(5000, 1_000_000),
  'tier-3': all(5000, 2_000_000),
  'tier-4': all(10_000, 4_000_000),
  'tier-5': all(15_000, 40_000_000),
};
const GPT_5_4_PRO: typeof GPT = {
  'tier-1': all(500, 30_000),
  'tier-2': all(5000, 450_000),
  'tier-3': all(5000, 800_000),
  'tier-4': all(10_000, 2_000_000),
  'tier-5': all(10_000, 30_000_000),
};

// https://platform.claude.com/docs/en/api/rate-limits, Messages API. Versions 4.5 to 4.8 of Opus share one limit, as
// do versions 4.5 and 4.6 of Sonnet.
const CLAUDE = {
  start: each(1000, 2_000_000, 400_000),
  build: each(5000, 5_000_000, 1_000_000),
  scale: each(10_000, 10_000_000, 2_000_000),
};
const CLAUDE_FABLE: typeof CLAUDE = {
  start: each(1000, 500_000, 100_000),
  build: each(2000, 1_500_000, 300_000),
  scale: each(4000, 4_000_000, 800_000),
};

/** Models by provider. Google shows its limits only in AI Studio, by project. */
const PUBLISHED = {
  openai: {
    'gpt-6-astra': GPT,
    'gpt-6-sol': GPT,
    'gpt-5.6-sol': GPT,
    'gpt-5.5': GPT,
    'gpt-5.4-pro': GPT_5_4_PRO,
  },
  anthropic: {
    'claude-fable-5': CLAUDE_FABLE,
    'claude-opus-5': CLAUDE,
    'claude-opus-4-8': CLAUDE,
    'claude-opus-4-7': CLAUDE,
    'claude-opus-4-6': CLAUDE,
    'claude-opus-4-5': CLAUDE,
    'claude-sonnet-5': CLAUDE,
    'claude-sonnet-4-6': CLAUDE,
    'claude-sonnet-4-5': CLAUDE,
    'claude-haiku-4-5': CLAUDE,
  },
} as const;

type Published = typeof PUBLISHED;
export type LimitedProvider = keyof Published;
/** Models whose limits are known. Their dated snapshots, such as `gpt-5.5-2026-04-23`, have the same limits. */
export type LimitedModel<Provider extends LimitedProvider> = keyof Published[Provider] & string;
export type ProviderTier<Provider extends LimitedProvider> = Provider extends 'openai'
  ? keyof typeof GPT
  : keyof typeof CLAUDE;

/** Usual tokens of one call. */
export interface CallTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * Limits of a resource for a model, to spread and override: `{ ...providerLimits('openai', 'tier-1', 'gpt-5.5'),
 * concurrency: 20 }`. With the tokens of a call, the rate stays below the token limits as well.
 */
export function providerLimits<Provider extends LimitedProvider>(
  provider: Provider,
  tier: ProviderTier<Provider>,
  model: LimitedModel<Provider> | (string & {}),
  call?: CallTokens,
): { ratePerSecond: number } {
  const models = known('a provider', PUBLISHED, provider);
  const tiers = known(`a model of ${provider}`, models, model.replace(/-(?:\d{8}|\d{4}-\d\d-\d\d)$/, ''));
  const limits: PublishedLimits = known(`a tier of ${model}`, tiers, tier);
  const { requests, tokens, input = Infinity, output = Infinity } = limits;
  const { inputTokens, outputTokens } = call ?? { inputTokens: 0, outputTokens: 0 };
  const perMinute = Math.min(
    requests,
    (tokens ?? Infinity) / (inputTokens + outputTokens),
    input / inputTokens,
    output / outputTokens,
  );
  return { ratePerSecond: perMinute / 60 };
}

function known<Entries extends object>(what: string, entries: Entries, name: string): Entries[keyof Entries] {
  if (Object.hasOwn(entries, name)) return entries[name as keyof Entries];
  const names = Object.keys(entries);
  throw new RowmillError(
    'PIPELINE_INVALID',
    `expected ${what} with published limits (${names.join(', ')}), got ${name}${didYouMean(name, names)}`,
    {
      hint: 'Give the limits of your account instead, such as { ratePerSecond: 8 }: its requests per minute, divided by 60. See docs/ai.md.',
    },
  );
}
