// Finds the next occurrence of a text and remembers the range without one, so that a search from inside that range
// costs nothing. Otherwise a file without the text would be searched to its end for every row.

export interface TextFinder {
  /** Index of the first occurrence at or after `from`, or the length of the text; '' never occurs. */
  next(from: number): number;
  /** Starts over on another text. */
  reset(text: string): void;
}

export function createTextFinder(needle: string): TextFinder {
  let text = '';
  let clearFrom = 0;
  let found = -1;
  return {
    next(from) {
      if (from >= clearFrom && from <= found) return found;
      if (needle === '') return text.length;
      const index = text.indexOf(needle, from);
      clearFrom = from;
      found = index === -1 ? text.length : index;
      return found;
    },
    reset(newText) {
      text = newText;
      clearFrom = 0;
      found = -1;
    },
  };
}
