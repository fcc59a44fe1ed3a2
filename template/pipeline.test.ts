import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryWaits, runPipeline } from 'rowmill/testing';
import { prices } from './pipeline.ts';

test('converts a price to euros', async () => {
  const { results } = await runPipeline(prices, [{ product: 'lamp', price: '10', currency: 'USD' }]);
  assert.equal(results[0]?.status, 'DONE');
  assert.deepEqual(results[0].result, { euros: 9.2 });
});

test('reports an unknown currency as not found', async () => {
  const { results } = await runPipeline(prices, [{ product: 'lamp', price: '10', currency: 'XXX' }]);
  assert.equal(results[0]?.status, 'NOT_FOUND');
});

test('respects Retry-After, in virtual time', async () => {
  const { results, virtualMs } = await runPipeline(
    prices,
    [{ product: 'lamp', price: '10', currency: 'USD' }],
    {
      faults: [{ phase: 'rate', attempt: [1, 2], kind: 'status', status: 429, retryAfterSeconds: 60 }],
    },
  );
  assert.equal(results[0]?.status, 'DONE');
  assert.equal(retryWaits(results[0]).length, 2);
  assert.ok(virtualMs >= 120_000);
});
