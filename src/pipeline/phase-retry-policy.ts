// The retry policy of one phase: the defaults of the settings, overridden by the phase. By default a row that is not
// found is tried once with each strategy of the pipeline.
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
    // Fields set to undefined keep their default.
    const said = Object.entries(rule ?? {}).filter(([, value]) => value !== undefined);
    policy[errorClass] = { ...policy[errorClass], ...Object.fromEntries(said) };
  }
  return policy;
}
