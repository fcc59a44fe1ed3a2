// The public interface of rowmill/ai.
// The interface uses types of Node, even if a project's `types` does not list them.
/// <reference types="node" preserve="true" />
export { type Ai, type AiContext, type AiOptions, createAi } from './create-ai.ts';
export type { ModelPrice } from './model-price.ts';
export {
  type CallTokens,
  type LimitedModel,
  type LimitedProvider,
  providerLimits,
  type ProviderTier,
} from './provider-limits.ts';
