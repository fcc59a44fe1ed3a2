// What a browser fetches before the list of jobs is there: little code, compressed, and from this server alone.
import type { Response } from 'playwright-core';
import { expect, test } from 'vitest';
import { definePipeline, openRowmill } from '../../src/index.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();
const pipeline = definePipeline({ name: 'prices', phases: [{ name: 'lookup', run: () => ({ price: 1 }) }] });

test('the list of jobs needs less than 250 kB of compressed code, all of it from this server', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [pipeline] });
  const rowmill = await openRowmill({ databaseUrl: database.url });
  await rowmill.submit(pipeline, [{ sku: 'A-1' }], { name: 'Catalogue', hold: true });
  await rowmill.close();
  const { page, complaints } = await browser.open();
  const responses: Response[] = [];
  page.on('response', (response) => responses.push(response));
  await page.goto(url);
  await page.getByRole('link', { name: 'Catalogue' }).waitFor();

  expect(new Set(responses.map((response) => new URL(response.url()).origin))).toEqual(new Set([url]));
  const scripts = responses.filter((each) => /javascript/.test(each.headers()['content-type'] ?? ''));
  expect(scripts.length).toBeGreaterThan(0);
  const sizes = await Promise.all(
    scripts.map(async (each) => (await each.request().sizes()).responseBodySize),
  );
  const unpacked = await Promise.all(scripts.map(async (each) => (await each.body()).byteLength));
  const sum = (all: number[]): number => all.reduce((total, size) => total + size, 0);
  // Otherwise the sizes are not those of compressed bytes.
  expect(sum(sizes)).toBeGreaterThan(50_000);
  expect(sum(sizes)).toBeLessThan(sum(unpacked) / 2);
  expect(sum(sizes)).toBeLessThan(250_000);
  expectNoComplaints(complaints);
});
