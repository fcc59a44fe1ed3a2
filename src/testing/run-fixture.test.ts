import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import { runFixture } from './run-fixture.ts';

const prices = definePipeline({
  name: 'prices',
  params: z.object({ country: z.string().transform((text) => text.length) }),
  phases: [
    { name: 'match', run: () => ({ id: 'matched' }) },
    { name: 'price', run: (_, { previous, params }) => ({ ...previous, letters: params.country }) },
  ],
});
const row = { sku: 'A-1' };
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-fixture-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('runFixture', () => {
  it('runs the row from the first phase, with parameters that are parsed already', async () => {
    const { results } = await runFixture(prices, { pipeline: 'prices', row, params: { country: 2 } });
    expect(results[0]).toMatchObject({ status: 'DONE', row, result: { id: 'matched', letters: 2 } });
  });

  it('starts at the phase of the fixture, with the output of the phase before', async () => {
    const fixture = { pipeline: 'prices', row, phase: 'price', previous: { id: 'stored' } };
    const { results } = await runFixture(prices, fixture);
    expect(results[0]!.history.map(({ phase }) => phase)).toEqual(['price']);
    expect(results[0]!.result).toMatchObject({ id: 'stored' });
  });

  it('starts with the outputs of all phases before, for handlers and results that read them', async () => {
    const totals = definePipeline({
      name: 'totals',
      result: 'merge',
      phases: [
        { name: 'match', run: () => ({ id: 'matched' }) },
        { name: 'price', run: () => ({ price: 5 }) },
        {
          name: 'total',
          withOutputs: true,
          run: (_, { outputs }) => ({ line: `${outputs.match.id} ${outputs.price.price}` }),
        },
      ],
    });
    const outputs = { match: { id: 'stored' }, price: { price: 7 } };
    const { results } = await runFixture(totals, { pipeline: 'totals', row, phase: 'total', outputs });
    expect(results[0]!.result).toEqual({ id: 'stored', price: 7, line: 'stored 7' });
    const named = { pipeline: 'totals', row, phase: 'total', outputs: { mach: {} } };
    await expect(runFixture(totals, named)).rejects.toThrow('pipeline totals has no phase mach');
  });

  it.each([
    ['{', 'is not valid JSON'],
    ['{"pipeline":"prices","row":{},"outputs":[]}', 'expected outputs of the fixture'],
    ['[]', 'to be a JSON object'],
    ['{"pipeline":"prices","rows":{}}', 'unknown key rows; did you mean row?'],
    ['{"pipeline":"prices","row":[]}', 'expected row of the fixture'],
    ['{"pipeline":"prices","row":{},"params":1}', 'expected params of the fixture'],
    ['{"pipeline":"other","row":{}}', 'the fixture is of pipeline other, not of prices'],
    ['{"pipeline":"prices","row":{},"phase":"pay"}', 'pipeline prices has no phase pay; it has match, price'],
  ])('refuses a file with %s', async (text, message) => {
    const path = join(folder, 'fixture.json');
    writeFileSync(path, text);
    await expect(runFixture(prices, path)).rejects.toThrow(message);
  });

  it('refuses a file that does not exist', async () => {
    await expect(runFixture(prices, join(folder, 'none.json'))).rejects.toThrow('cannot read the fixture');
  });
});
