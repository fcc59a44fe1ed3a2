// Removes characters from the end of a text in one pass. The regular expression /x+$/ restarts at every x, so a run
// of x in the middle of the text would take quadratic time.

/** `text` without the characters of `set` at its end. */
export function withoutTrailing(text: string, set: string): string {
  let end = text.length;
  while (end > 0 && set.includes(text[end - 1]!)) end -= 1;
  return text.slice(0, end);
}
