// Kinds of change between two runs, as people read them.
import type { RowChange } from '../../../../src/core/jobs/run-comparison.ts';

export const CHANGES: Record<RowChange, { word: string; tone: string }> = {
  fixed: { word: 'Fixed', tone: 'bg-good-soft text-good' },
  newlyFailed: { word: 'Newly failed', tone: 'bg-bad-soft text-bad' },
  newlyNotFound: { word: 'Newly not found', tone: 'bg-warn-soft text-warn' },
  changed: { word: 'Different result', tone: 'bg-warn-soft text-warn' },
  same: { word: 'Same result', tone: 'bg-quiet-soft text-quiet' },
  added: { word: 'Added', tone: 'bg-info-soft text-info' },
};

/** In the order of the page. */
export const CHANGE_ORDER: readonly RowChange[] = [
  'fixed',
  'newlyFailed',
  'newlyNotFound',
  'changed',
  'same',
  'added',
];
