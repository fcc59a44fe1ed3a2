// Refuses a file if most of its first rows would be rejected: the rows are probably fine and the file was misread. Each
// format describes how it read the file and which options the user can state instead.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadRow } from '../row-reader.ts';

/** Limits of the trial, in rows and characters. */
export const TRIAL_ROWS = 1000;
const TRIAL_CHARACTERS = 8 * 1024 * 1024;

export interface Trial {
  /** Returns true once enough rows were seen. */
  add(row: ReadRow, characters: number): boolean;
  /** Rows seen so far. */
  count(): number;
  /** FILE_INVALID if more than half of the rows were rejected; null otherwise. */
  refusal(): RowmillError | null;
  /** Throws the refusal. */
  end(): void;
}

export interface TrialWords {
  /** Expectation of a row, such as "fit the 3 columns". */
  fit: string;
  /** How the file was read, such as "the file was read as JSON lines". */
  how: string;
  hint: string;
  /** Unit of the line number. Default: line. */
  unit?: 'line' | 'row';
}

export function createTrial({ fit, how, hint, unit = 'line' }: TrialWords): Trial {
  let count = 0;
  let seen = 0;
  let rejected = 0;
  let example = '';
  const refusal = (): RowmillError | null => {
    if (rejected * 2 <= count) return null;
    return new RowmillError(
      'FILE_INVALID',
      `expected most rows to ${fit}, but ${rejected} of the first ${count} do not (${example}); ${how}`,
      { hint },
    );
  };
  return {
    add(row, characters) {
      count += 1;
      seen += characters;
      if (row.kind === 'rejected') {
        rejected += 1;
        if (example === '') example = `${unit} ${row.line}: ${row.reason}`;
      }
      return count >= TRIAL_ROWS || seen >= TRIAL_CHARACTERS;
    },
    count: () => count,
    refusal,
    end() {
      const refused = refusal();
      if (refused !== null) throw refused;
    },
  };
}
