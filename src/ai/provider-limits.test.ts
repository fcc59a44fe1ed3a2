import { describe, expect, it } from 'vitest';
import { checkLimits } from '../core/limits/resource-limits.ts';
import { type LimitedProvider, type ProviderTier, providerLimits } from './provider-limits.ts';

const perMinute = ({ ratePerSecond }: { ratePerSecond: number }) => Math.round(ratePerSecond * 60);

describe('limits of a provider', () => {
  it('are the requests per minute of the model in the tier', () => {
    expect(perMinute(providerLimits('openai', 'tier-1', 'gpt-5.5'))).toBe(500);
    expect(perMinute(providerLimits('openai', 'tier-5', 'gpt-5.4-pro'))).toBe(10_000);
    expect(perMinute(providerLimits('anthropic', 'start', 'claude-haiku-4-5'))).toBe(1000);
    expect(perMinute(providerLimits('anthropic', 'scale', 'claude-fable-5'))).toBe(4000);
    const limits = { ...providerLimits('openai', 'tier-1', 'gpt-5.5'), concurrency: 20 };
    expect(checkLimits('model', limits)).toBeNull();
  });

  it('are those of the model for its dated snapshots, and not for its successors', () => {
    expect(perMinute(providerLimits('openai', 'tier-2', 'gpt-5.5-2026-04-23'))).toBe(5000);
    expect(perMinute(providerLimits('anthropic', 'build', 'claude-haiku-4-5-20251001'))).toBe(5000);
    expect(() => providerLimits('anthropic', 'build', 'claude-opus-5-5')).toThrow('got claude-opus-5-5');
  });

  it('are lower if the tokens of a call reach a token limit first', () => {
    const rate = (inputTokens: number, outputTokens: number) =>
      perMinute(providerLimits('anthropic', 'start', 'claude-fable-5', { inputTokens, outputTokens }));
    expect(rate(100, 20)).toBe(1000);
    expect(rate(5000, 20)).toBe(100);
    expect(rate(100, 500)).toBe(200);
    expect(rate(100, 0)).toBe(1000);
    const together = { inputTokens: 4000, outputTokens: 1000 };
    expect(perMinute(providerLimits('openai', 'tier-1', 'gpt-5.5', together))).toBe(100);
  });

  it('name the providers, models and tiers that are known, and the way to other limits', () => {
    const failure = (provider: string, tier: string, model: string) => {
      try {
        providerLimits(provider as LimitedProvider, tier as ProviderTier<LimitedProvider>, model);
      } catch (error) {
        return error;
      }
    };
    expect(failure('google', 'tier-1', 'gemini-3-pro')).toMatchObject({
      code: 'PIPELINE_INVALID',
      message: 'expected a provider with published limits (openai, anthropic), got google',
      hint: expect.stringContaining('such as { ratePerSecond: 8 }'),
    });
    expect(failure('openai', 'tier-1', 'gpt-5.6-so')).toMatchObject({
      message: expect.stringMatching(/^expected a model of openai with .*, did you mean gpt-5.6-sol\?$/),
    });
    expect(failure('anthropic', 'tier-1', 'claude-opus-5')).toMatchObject({
      message: 'expected a tier of claude-opus-5 with published limits (start, build, scale), got tier-1',
    });
    expect(failure('openai', 'toString', 'gpt-5.5')).toMatchObject({ code: 'PIPELINE_INVALID' });
  });
});
