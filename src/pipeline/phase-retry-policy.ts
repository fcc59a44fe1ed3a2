// The retry policy of one phase: the defaults of the settings, and over them what the phase says. What is not found is by
// default looked for in each of the pipeline's ways once.
import {
  defaultRetryPolicy,
  type RetryOverrides,
  type RetryPolicy,
  type RetryRule,
} from '../core/retries/retry-policy.ts';
import type { Phase } from './pipeline.ts';

export function phaseRetryPolicy(
  settings: RetryOverrides,
  phase: Phase,
  strategies: readonly string[] = [],
): RetryPolicy {
  const maxAttemptsNotFound = Math.max(settings.maxAttemptsNotFound, strategies.length);
  const policy = defaultRetryPolicy({ ...settings, maxAttemptsNotFound });
  for (const [errorClass, rule] of Object.entries(phase.retry ?? {}) as [
    keyof RetryPolicy,
    Partial<RetryRule>,
  ][]) {
    // What is written as undefined is left out: a default that came from elsewhere and is not set.
    const said = Object.entries(rule ?? {}).filter(([, value]) => value !== undefined);
    policy[errorClass] = { ...policy[errorClass], ...Object.fromEntries(said) };
  }
  return policy;
}
