// Finds the next occurrence of a text and remembers the stretch in which there is none, so that asking again from inside
// of it costs nothing. Without that memory a file that lacks the text would be searched to its end for every row.

export interface TextFinder {
  /** Index of the first occurrence at or after `from`, or the length of the text; '' occurs nowhere. */
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
