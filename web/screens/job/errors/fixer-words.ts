// The person who can fix an error, as people read it.
import type { Fixer } from '../../../../src/core/errors/error-triage.ts';

const WORDS: Record<Fixer, string> = {
  'row owner': 'Row owner: input',
  developer: 'Developer: pipeline',
  operator: 'Operator: service or limits',
};

export function fixerWords(fixer: Fixer): string {
  return WORDS[fixer];
}
