import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { definePipeline } from '../../../../src/index.ts';
import { runFixture } from '../../../../src/testing/index.ts';
import { asCurl, asFixture } from './row-copies.ts';

const jobId = '0199a7c2-0000-7000-8000-000000000000';

test('a copied fixture runs with runFixture, parameters included', async () => {
  const pipeline = definePipeline({
    name: 'prices',
    phases: [
      {
        name: 'price',
        run: ({ sku }, { params }) => ({
          price: `${String(sku)} ${(params as { currency: string }).currency}`,
        }),
      },
    ],
  });
  const text = asFixture(
    { pipeline: 'prices', jobId, params: { currency: 'EUR' } },
    { seq: 6, input: { sku: 'A-1' }, edits: [] },
  );
  expect(JSON.parse(text).from).toBe(`row 7 of job ${jobId} (seq 6)`);
  const folder = mkdtempSync(join(tmpdir(), 'row-copies-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'row-7.json');
  writeFileSync(path, text);
  const { results } = await runFixture(pipeline, path);
  expect(results[0]).toMatchObject({ status: 'DONE', result: { price: 'A-1 EUR' } });
});

test('a curl command names the key, not its value, and quotes the address', () => {
  expect(asCurl("https://host/it's", { jobId }, { seq: 6 })).toBe(
    `curl -sS -H "Authorization: Bearer $ROWMILL_API_KEY" 'https://host/it%27s/api/v1/jobs/${jobId}/items/6'`,
  );
});
