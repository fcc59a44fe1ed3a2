// Items and handler of a scenario, the same for all contestants.

export interface Payload {
  /** Bytes of an item as JSON, about; 0 for the smallest one. */
  inputBytes: number;
  /** Bytes of a result as JSON, about; 0 for the smallest one. */
  resultBytes: number;
  /** Items whose handler throws an error that no retry can repair. */
  failingPercent: number;
  /** Lines that the handler logs per item, of about 90 bytes as JSON each. Only Rowmill stores them. */
  logLines: number;
}

export const SMALLEST: Payload = { inputBytes: 0, resultBytes: 0, failingPercent: 0, logLines: 0 };

export interface Item {
  n: number;
  text?: string;
}

export interface Result {
  ok: true;
  n: number;
  text?: string;
}

/** Bytes of an item or result around its text. */
const FRAME_BYTES = { input: 22, result: 32 };
/** More texts than a block of results has items, so that compression does not profit from repeated texts. */
const TEXTS = 4096;
const WORDS =
  'price shop order invoice name city street article size colour stock weight brand note open closed north south'.split(
    ' ',
  );

/** Texts of words and numbers in a fixed pseudo-random order: they compress like prose, not like one letter repeated. */
function makeTexts(length: number): string[] {
  let state = 1;
  const next = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state;
  };
  return Array.from({ length: TEXTS }, () => {
    let text = '';
    while (text.length < length)
      text += next() % 4 === 0 ? `${next() % 10_000} ` : `${WORDS[next() % WORDS.length]} `;
    return text.slice(0, length);
  });
}

export function createItem({ inputBytes }: Payload): (n: number) => Item {
  if (inputBytes === 0) return (n) => ({ n });
  const texts = makeTexts(Math.max(1, inputBytes - FRAME_BYTES.input));
  return (n) => ({ n, text: texts[n % TEXTS]! });
}

export function createHandler({ resultBytes, failingPercent }: Payload): (item: Item) => Promise<Result> {
  const texts = resultBytes === 0 ? null : makeTexts(Math.max(1, resultBytes - FRAME_BYTES.result));
  if (texts === null && failingPercent === 0) return async ({ n }) => ({ ok: true, n });
  return async ({ n }) => {
    if (n % 100 < failingPercent) throw Object.assign(new Error(`item ${n} is not valid`), { status: 422 });
    return texts === null ? { ok: true, n } : { ok: true, n, text: texts[n % TEXTS]! };
  };
}
