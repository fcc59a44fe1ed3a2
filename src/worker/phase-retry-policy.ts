// The retry policy of one phase: the defaults of the settings, and over them what the phase says.
import {
  defaultRetryPolicy,
  type RetryOverrides,
  type RetryPolicy,
  type RetryRule,
} from '../core/retry-policy.ts';
import type { Phase } from './define-pipeline.ts';

export function phaseRetryPolicy(
  settings: RetryOverrides,
  phase: Phase<unknown, unknown, unknown>,
): RetryPolicy {
  const policy = defaultRetryPolicy(settings);
  for (const [errorClass, rule] of Object.entries(phase.retry ?? {}) as [
    keyof RetryPolicy,
    Partial<RetryRule>,
  ][]) {
    policy[errorClass] = { ...policy[errorClass], ...rule };
  }
  return policy;
}
