// Groups errors that differ only in the particulars: numbers, ids, addresses, quoted values, names of several words.

const MAX_SIGNATURE_LENGTH = 200;

/** What it makes of its own shape is the same shape: `<n>'` is no opening quote, as `5'` was none. */
export function errorSignature(errorClass: string, message: string): string {
  const unquoted = message
    .slice(0, 2000)
    .replace(/https?:\/\/\S+/gi, '<url>')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>')
    .replace(/"[^"\n]*"|(?<![\w>])'[^'\n]*'|`[^`\n]*`/g, '<value>')
    .replace(/“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|‘[^‘’\n]*’/g, '<value>')
    .replace(/(?<!\S)[^\s@]+@\S+/g, '<email>')
    .replace(/\s+/g, ' ');
  const shape = replaceNames(unquoted)
    // Digits alone are a number, and so are those behind its point.
    .replace(/(?<!\d\.)\b(?=\d*[a-f])[0-9a-f]{12,}\b/gi, '<id>')
    .replace(/[\w.:-]+/g, replaceNumber)
    .trim()
    .slice(0, MAX_SIGNATURE_LENGTH)
    .trim()
    .toWellFormed();
  return `${errorClass}: ${shape}`;
}

/** A word with a digit, from the letters right before the digit to its end. 404 and 503 stay: they tell errors apart. */
function replaceNumber(run: string): string {
  const digit = run.search(/\d/);
  if (digit === -1) return run;
  let start = digit;
  while (start > 0 && /[a-z_-]/i.test(run[start - 1]!)) start -= 1;
  const word = run.slice(start);
  return run.slice(0, start) + (/^[45]\d\d$/.test(word) ? word : '<n>');
}

/** Words that names often follow. Capitals elsewhere are often the error itself: `Bad Gateway`. */
const BEFORE_NAMES = ['for', 'of', 'named', 'called'];

/** Two words or more that begin with a capital: `no price for Anna Miller`. */
function replaceNames(text: string): string {
  const words = text.split(' ');
  const shape: string[] = [];
  for (let i = 0; i < words.length; ) {
    const word = words[i]!;
    shape.push(word);
    i += 1;
    if (!BEFORE_NAMES.includes(word)) continue;
    let end = i;
    while (isNameWord(words[end] ?? '')) end += 1;
    // The name may end the sentence.
    const mark = /[.,;:!?)]$/.exec(words[end] ?? '')?.[0] ?? '';
    if (mark !== '' && isNameWord(words[end]!.slice(0, -1))) end += 1;
    if (end - i < 2) continue;
    shape.push(`<name>${words[end - 1]!.endsWith(mark) ? mark : ''}`);
    i = end;
  }
  return shape.join(' ');
}

function isNameWord(word: string): boolean {
  return word.split('-').every((part) => /^\p{Lu}\p{Ll}+$/u.test(part));
}
