// Two phases: look up the rate of a currency, then convert the price. The result of a phase is stored, so a crash in the
// second phase never repeats the first.
import { definePipeline, notFound } from 'rowmill';
import { z } from 'zod';

const EUROS: Record<string, number> = { EUR: 1, USD: 0.92, GBP: 1.17, CHF: 1.05, JPY: 0.0061 };

export const prices = definePipeline({
  name: 'prices',
  // Cells of a file are text: coerce turns them into numbers. A row that does not match ends as ERROR.
  input: z.object({ product: z.string().min(1), price: z.coerce.number(), currency: z.string().length(3) }),
  phases: [
    {
      name: 'rate',
      // Calls that run at the same time, and the time limit of each.
      concurrency: 5,
      timeoutMs: 10_000,
      // Do not retry: a currency that is missing now will still be missing in a minute.
      retry: { not_found: { maxAttempts: 1 } },
      run: async (row) => {
        // A real pipeline calls a service. `context`, the second argument of run, has a fetch that passes the signal and
        // the idempotency key. A response that is not ok throws: 404 is not found; 429, 5xx and timeouts are retried,
        // respecting Retry-After.
        //
        // const response = await context.fetch(`https://rates.example/${row.currency}`);
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
