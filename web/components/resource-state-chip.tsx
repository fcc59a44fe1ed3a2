// The state of a resource in a word, with its meaning on hover.
import type { z } from 'zod';
import type { listedResource } from '../../src/contract/operations.ts';

export type ResourceState = z.infer<typeof listedResource>['state'];

const STATES: Record<ResourceState, readonly [words: string, tone: string, meaning: string]> = {
  closed: ['Healthy', 'bg-good-soft text-good', 'Calls may start'],
  open: ['Circuit open', 'bg-bad-soft text-bad', 'Too many failures; calls wait'],
  probing: ['Testing recovery', 'bg-warn-soft text-warn', 'A few calls test whether the service works again'],
  paused: ['Paused', 'bg-warn-soft text-warn', 'No call starts'],
  unused: ['Not used yet', 'bg-quiet-soft text-quiet', 'No worker has used it'],
};

export function ResourceStateChip({ state }: { state: ResourceState }) {
  const [words, tone, meaning] = STATES[state];
  return (
    <span
      title={meaning}
      className={`inline-flex rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tone}`}
    >
      {words}
    </span>
  );
}
