// Removes characters from the end of a text in one pass. The expression /x+$/ starts again at every x of the text, so a
// run of them in the middle costs the square of its length.

/** `text` without the characters of `set` at its end. */
export function withoutTrailing(text: string, set: string): string {
  let end = text.length;
  while (end > 0 && set.includes(text[end - 1]!)) end -= 1;
  return text.slice(0, end);
}
