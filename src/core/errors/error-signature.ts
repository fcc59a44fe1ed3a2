// Groups errors that differ only in details: numbers, ids, addresses, quoted values, and names that follow certain
// words. A group can be skipped or changed as a whole, so merging two errors is worse than splitting one.

const MAX_SIGNATURE_LENGTH = 200;

/** Idempotent: the signature of a signature's text is the same. `<n>'` is not an opening quote, as `5'` was not. */
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
    // Digits alone are a number, and so are digits after a decimal point.
    .replace(/(?<!\d\.)\b(?=\d*[a-f])[0-9a-f]{12,}\b/gi, '<id>')
    .replace(/[\w.:-]+/g, replaceNumber)
    .trim()
    .slice(0, MAX_SIGNATURE_LENGTH)
    .trim()
    .toWellFormed();
  return `${errorClass}: ${shape}`;
}

/** Replaces a word from the letters before its first digit. Keeps status codes such as 404 and 503. */
function replaceNumber(run: string): string {
  const digit = run.search(/\d/);
  if (digit === -1) return run;
  let start = digit;
  while (start > 0 && /[a-z_-]/i.test(run[start - 1]!)) start -= 1;
  const word = run.slice(start);
  return run.slice(0, start) + (/^[45]\d\d$/.test(word) ? word : '<n>');
}

/**
 * Words that are followed by a name, and the minimum number of words in that name. Capitalized words elsewhere are
 * often part of the error itself: `Bad Gateway`, `instance of Buffer`, every noun of a German message.
 */
const BEFORE_NAMES: Readonly<Record<string, number>> = {
  for: 2,
  of: 2,
  ...Object.fromEntries(
    [
      'named',
      'called',
      'user',
      'customer',
      'person',
      'author',
      'company',
      'brand',
      'city',
      'town',
      'country',
      'street',
    ].map((word) => [word, 1]),
  ),
};

/** Such as `no price for Anna Miller`, `brand Acme is unknown`, `userId=anna`, `ENOTFOUND a.example`, `/data/a.pdf`. */
function replaceNames(text: string): string {
  const words = text.split(' ');
  const shape: string[] = [];
  for (let i = 0; i < words.length; ) {
    const word = words[i]!;
    shape.push(
      HOST_ERRORS.has(words[i - 1] ?? '') ? replaceHost(word) : replacePath(replaceNamedValue(word)),
    );
    i += 1;
    const least = Object.hasOwn(BEFORE_NAMES, word) ? BEFORE_NAMES[word]! : null;
    if (least === null) continue;
    const isName = least === 1 ? isSingleName : isNameWord;
    let end = i;
    while (isName(words[end] ?? '')) end += 1;
    // The name may end the sentence.
    const mark = markAtEnd(words[end] ?? '');
    if (mark !== '' && isName(words[end]!.slice(0, -1))) end += 1;
    if (end - i < least) continue;
    shape.push(`<name>${words[end - 1]!.endsWith(mark) ? mark : ''}`);
    i = end;
  }
  return shape.join(' ');
}

function isNameWord(word: string): boolean {
  return word.split('-').every((part) => /^\p{Lu}\p{Ll}+$/u.test(part));
}

/** Also `McDonald` and `O'Neil`, but not `ID`. */
function isSingleName(word: string): boolean {
  return /^\p{Lu}[\p{L}'’-]+$/u.test(word) && /\p{Ll}/u.test(word);
}

function markAtEnd(word: string): string {
  return /[.,;:!?)]$/.exec(word)?.[0] ?? '';
}

/** Node error codes that are followed by a host. */
const HOST_ERRORS: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

function replaceHost(word: string): string {
  const mark = markAtEnd(word);
  const host = word.slice(0, word.length - mark.length);
  return /^[\w.:[\]-]+$/.test(host) && /[.:]/.test(host) ? `<host>${mark}` : word;
}

/** Last words of keys whose value identifies one thing. Other values may be the reason, such as `reason=expired`. */
const NAMING_KEYS: ReadonlySet<string> = new Set([
  'id',
  'key',
  'name',
  'title',
  'user',
  'customer',
  'sku',
  'email',
  'file',
  'path',
  'host',
  'domain',
]);

/** `userId=anna` */
function replaceNamedValue(word: string): string {
  const at = word.indexOf('=');
  if (at === -1) return word;
  const mark = markAtEnd(word);
  if (at + 1 >= word.length - mark.length) return word;
  const key = word.slice(0, at);
  const last = key.split(/\P{L}|(?<=\p{Ll})(?=\p{Lu})/u).at(-1)!;
  return NAMING_KEYS.has(last.toLowerCase()) ? `${key}=<value>${mark}` : word;
}

/** Replaces file paths such as `/data/in/a.pdf`. A path without an extension may be a field: `/items/price`. */
function replacePath(word: string): string {
  const mark = markAtEnd(word);
  const path = word.slice(0, word.length - mark.length);
  const at = path.lastIndexOf('/');
  return at !== -1 && /\.[a-z]\w{0,4}$/i.test(path.slice(at + 1)) ? `<path>${mark}` : word;
}
