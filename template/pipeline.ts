// Two phases: look up the rate of a currency, then convert the price. What a phase returned is stored, so a crash in
// the second phase never repeats the first.
import { definePipeline, notFound } from 'rowmill';
import { z } from 'zod';

const EUROS: Record<string, number> = { EUR: 1, USD: 0.92, GBP: 1.17, CHF: 1.05, JPY: 0.0061 };

export const prices = definePipeline({
  name: 'prices',
  // Cells of a file are text: coerce makes numbers of them. A row that does not fit ends as ERROR.
  input: z.object({ product: z.string().min(1), price: z.coerce.number(), currency: z.string().length(3) }),
  phases: [
    {
      name: 'rate',
      // Rows that are worked on at once, and the time that each call has.
      concurrency: 5,
      timeoutMs: 10_000,
      // A currency that is not there now will not be there in a minute either.
      retry: { not_found: { maxAttempts: 1 } },
      run: async (row) => {
        // A real pipeline asks a service. Throw an answer that is not ok as httpError (import it from rowmill): Rowmill
        // waits as long as Retry-After says, and tries 429, 5xx and timeouts again. Take signal and idempotencyKey from
        // the second argument of run.
        //
        // const url = `https://rates.example/${row.currency}`;
        // const response = await fetch(url, { signal, headers: { 'Idempotency-Key': idempotencyKey } });
        // if (response.status === 404) return notFound(`no rate for ${row.currency}`);
        // if (!response.ok) throw httpError(response);
        // const { rate } = (await response.json()) as { rate: number };
        const rate = EUROS[row.currency];
        if (rate === undefined) return notFound(`no rate for ${row.currency}`);
        return { rate };
      },
    },
    {
      name: 'convert',
      run: (row, { previous }) => ({ euros: Math.round(row.price * previous.rate * 100) / 100 }),
    },
  ],
});
