// The field that an error is about, so that a bulk edit starts with it: a field that the message names, otherwise one
// whose value it quotes, otherwise the first that does not identify the row.

export interface NamedValue {
  key: string;
  text: string;
}

/** Shorter values occur in messages by chance. */
const MIN_VALUE_LENGTH = 3;

export function likelyField(message: string, fields: readonly NamedValue[]): string | null {
  const text = message.toLowerCase();
  const named = fields
    .map(({ key }) => ({ key, at: wordAt(text, key.toLowerCase()) }))
    .filter(({ at }) => at >= 0)
    // The first one named; of two that start at the same place, the longer.
    .toSorted((a, b) => a.at - b.at || b.key.length - a.key.length)[0];
  if (named) return named.key;
  const quoted = fields
    .filter(({ text: value }) => value.length >= MIN_VALUE_LENGTH && text.includes(value.toLowerCase()))
    .toSorted((a, b) => b.text.length - a.text.length)[0];
  return (quoted ?? fields[0])?.key ?? null;
}

/** Place of a word that is not part of a longer one; -1 if there is none. */
function wordAt(text: string, word: string): number {
  for (let at = text.indexOf(word); at >= 0 && word !== ''; at = text.indexOf(word, at + 1))
    if (!isLetter(text[at - 1]) && !isLetter(text[at + word.length])) return at;
  return -1;
}

function isLetter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character);
}
