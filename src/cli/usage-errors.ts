// Prints wrong usage, which the parser finds before any command runs: as text, or as JSON if --json is among the words.
import type { OutputConfiguration } from 'commander';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { printError } from './print-error.ts';

export function usageErrors(words: readonly string[]): OutputConfiguration {
  if (!words.includes('--json')) return {};
  return {
    outputError: (text) =>
      printError(new RowmillError('USAGE_INVALID', text.replace(/^error: /, '').trim()), true),
    // The parser would add a line about --help, which the hint has.
    writeErr: () => {},
  };
}
