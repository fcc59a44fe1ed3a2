// Checks bank transactions before they are posted: rules first, then a screening service that takes many at once. When
// a job is finished, a callback notifies the system that ordered it, once per generation.
import { definePipeline, fail, httpError, notFound, skip } from 'rowmill';
import { z } from 'zod';

const SCREENING_URL = process.env.SCREENING_URL ?? 'http://127.0.0.1:8080/screen';
const CALLBACK_URL = process.env.CALLBACK_URL ?? 'http://127.0.0.1:8081/batch-done';
/** A person reviews transactions from this score on. */
const REVIEW_FROM = 0.7;

/**
 * ISO 13616: letters count from 10, the first four characters go last, and the remainder of the division by 97 is 1.
 */
export function isIban(text: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z\d]{11,30}$/.test(text)) return false;
  const digits = (text.slice(4) + text.slice(0, 4)).replace(/[A-Z]/g, (letter) =>
    String(letter.charCodeAt(0) - 55),
  );
  return BigInt(digits) % 97n === 1n;
}

const iban = z.string().refine(isIban, 'expected an IBAN with a valid checksum');

interface Screened {
  id: string;
  /** Null if the service does not know the receiving account. */
  score: number | null;
}

async function post(url: string, body: unknown, key: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
  // Rowmill reads the status, and retries errors that may be temporary.
  if (!response.ok) throw httpError(response);
  return response;
}

export const transactions = definePipeline({
  name: 'transactions',
  // An invalid row ends as ERROR of class invalid, and no handler is called for it.
  input: z.object({
    transaction_id: z.string().min(1),
    from_iban: iban,
    to_iban: iban,
    amount: z.coerce.number().positive(),
    currency: z.enum(['EUR', 'GBP', 'CHF']),
    reference: z.string().default(''),
  }),
  summary: ['transaction_id', 'amount', 'currency'],
  outputs: ['csv', 'csv-by-status'],
  phases: [
    {
      name: 'rules',
      run: (row) => {
        if (row.from_iban === row.to_iban) return skip('sender and receiver are the same account');
        if (row.amount > 1_000_000)
          return fail(`${row.amount} ${row.currency} is over the limit for one transaction`);
        return { country: row.to_iban.slice(0, 2) };
      },
    },
    {
      name: 'screen',
      concurrency: 4,
      batch: { maxItems: 100 },
      timeoutMs: 20_000,
      retry: { not_found: { maxAttempts: 1 }, overloaded: { maxAttempts: 10, baseMs: 100 } },
      runMany: async (items, { signal }) => {
        const asked = items.map(({ input }) => ({
          id: input.transaction_id,
          to: input.to_iban,
          amount: input.amount,
        }));
        const response = await post(SCREENING_URL, asked, items[0]!.idempotencyKey, signal);
        const answers = new Map(((await response.json()) as Screened[]).map((each) => [each.id, each.score]));
        // One entry per item, in order. Only items that the service left out fail.
        return items.map(({ input, previous }) => {
          const score = answers.get(input.transaction_id);
          if (score === undefined) return undefined;
          if (score === null) return notFound(`no account ${input.to_iban}`);
          const decision = score >= REVIEW_FROM ? 'review' : 'clear';
          return { ...(previous as { country: string }), decision, score, worker: process.pid };
        });
      },
    },
  ],
  // Called after the commit, at least once; repeated with the same key if it is unclear whether the call arrived.
  onDone: async (summary, { jobId, generation, idempotencyKey, signal }) => {
    const { state, outcome, total, counts, files } = summary;
    await post(
      CALLBACK_URL,
      { jobId, generation, state, outcome, total, counts, files },
      idempotencyKey,
      signal,
    );
  },
});
