// Pipelines of row-kinds.test.ts in a separate module, because threads load it again.
import { isMainThread } from 'node:worker_threads';
import { z } from 'zod';
import { definePipeline } from '../../dist/index.js';

const soon = { overloaded: { maxAttempts: 3, baseMs: 1, capMs: 1 } };

/** Fails each first attempt of its last phase, so that its outputs are read again. */
export const outputs = definePipeline({
  name: 'outputs',
  result: 'merge',
  phases: [
    { name: 'match', run: ({ n }, { generation }) => ({ articleId: n, by: 'match', since: generation }) },
    {
      name: 'price',
      batch: { maxItems: 50 },
      runMany: (items) =>
        items.map(({ input, previous }) => ({ price: input.n * 2 + previous.articleId, by: 'price' })),
    },
    {
      name: 'check',
      thread: true,
      concurrency: 1,
      withOutputs: true,
      run: (_row, { outputs: { match, price } }) => ({
        checked: [match.articleId, price.price, !isMainThread],
      }),
    },
    {
      name: 'total',
      retry: soon,
      withOutputs: true,
      run: ({ n }, { outputs: all, previous, attempt, generation }) => {
        if (attempt === 1 && generation === 1) throw Object.assign(new Error('busy'), { status: 503 });
        return { total: all.price.price * 10 + n, seen: Object.keys(all), checked: previous.checked };
      },
    },
  ],
});

const site = z.object({ site: z.string(), pages: z.coerce.number() });
const page = z.object({ url: z.string(), depth: z.number() });

/** A site emits its pages, and a page one image, each with its own phases. */
export const kinds = definePipeline({
  name: 'kinds',
  input: site,
  kinds: { page, image: z.object({ src: z.string() }) },
  phases: [
    {
      name: 'list',
      run: (row, { emit }) => {
        for (let n = 0; n < row.pages; n += 1)
          emit({
            kind: 'page',
            key: `${row.site}/${n}`,
            input: { url: `${row.site}/${n}`, depth: n },
            priority: n % 2,
          });
        return { pages: row.pages };
      },
    },
    { name: 'sum', run: (row, { previous }) => ({ site: row.site, pages: previous.pages }) },
    {
      name: 'fetch',
      kind: 'page',
      run: ({ url }, { previous }) => ({ html: `<${url}>`, first: previous === undefined }),
    },
    {
      name: 'index',
      kind: 'page',
      withOutputs: true,
      run: ({ url, depth }, { outputs: earlier, emit, generation }) => {
        if (depth === 1 && generation === 1) throw new Error('not indexed');
        if (depth === 0) emit({ kind: 'image', key: `${url}.png`, input: { src: `${url}.png` } });
        return { html: earlier.fetch.html, first: earlier.fetch.first, seen: Object.keys(earlier) };
      },
    },
    { name: 'scale', kind: 'image', run: ({ src }) => ({ scaled: src }) },
  ],
});
