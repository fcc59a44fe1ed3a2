// Looks up the price of each product in a service that is slow, limits its callers and sometimes fails.
import { definePipeline, httpError, notFound } from 'rowmill';
import { z } from 'zod';

const SERVICE_URL = process.env.PRICE_SERVICE_URL ?? 'http://127.0.0.1:8080';

export const priceLookup = definePipeline({
  name: 'price-lookup',
  input: z.object({ sku: z.string().min(1), title: z.string(), quantity: z.coerce.number().int() }),
  // The service allows 600 calls per second. All workers together stay below that, so hardly any call is refused.
  resources: { 'price-service': { ratePerSecond: 590 } },
  phases: [
    {
      name: 'lookup',
      resources: ['price-service'],
      concurrency: 64,
      timeoutMs: 5000,
      retry: { not_found: { maxAttempts: 1 }, overloaded: { maxAttempts: 30 } },
      run: async (product, { signal, idempotencyKey }) => {
        const url = `${SERVICE_URL}/price?sku=${encodeURIComponent(product.sku)}`;
        const response = await fetch(url, { signal, headers: { 'Idempotency-Key': idempotencyKey } });
        if (response.status === 404) return notFound(`no price for ${product.sku}`);
        // 429 waits for the time in Retry-After; 5xx is retried later.
        if (!response.ok) throw httpError(response);
        const { price, currency } = (await response.json()) as { price: number; currency: string };
        return { price, currency, value: Math.round(price * product.quantity * 100) / 100 };
      },
    },
  ],
});
