import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { retryWaits, runFixture, runPipeline } from 'rowmill/testing';
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

// Rows that failed once: `npx rowmill try prices --from <job> --row 17 --fixture fixtures/row-17.json` adds one.
const fixtures = existsSync('fixtures') ? readdirSync('fixtures') : [];
for (const name of fixtures.filter((each) => each.endsWith('.json')))
  test(`${name} is done`, async () => {
    const { results } = await runFixture(prices, `fixtures/${name}`);
    const { status, error } = results[0]!;
    assert.deepEqual({ status, error }, { status: 'DONE', error: null });
  });
