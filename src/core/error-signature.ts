// Groups errors that differ only in the particulars: numbers, ids, addresses, quoted values.

const MAX_SIGNATURE_LENGTH = 200;

/** What it makes of its own shape is the same shape: `<n>'` is no opening quote, as `5'` was none. */
export function errorSignature(errorClass: string, message: string): string {
  const shape = message
    .slice(0, 2000)
    .replace(/https?:\/\/\S+/gi, '<url>')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>')
    .replace(/"[^"\n]*"|(?<![\w>])'[^'\n]*'|`[^`\n]*`/g, '<value>')
    // Digits alone are a number, and so are those behind its point.
    .replace(/(?<!\d\.)\b(?=\d*[a-f])[0-9a-f]{12,}\b/gi, '<id>')
    .replace(/[\w.:-]+/g, replaceNumber)
    .replace(/\s+/g, ' ')
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
