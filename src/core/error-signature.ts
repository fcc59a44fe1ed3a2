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
    .replace(/[a-z_-]*\d[\w.:-]*/gi, (word) => (/^[45]\d\d$/.test(word) ? word : '<n>'))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_SIGNATURE_LENGTH)
    .trim()
    .toWellFormed();
  return `${errorClass}: ${shape}`;
}
