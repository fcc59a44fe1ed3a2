// The files of a new project, as `rowmill init` writes them. They have to run as they are: a test makes a project of
// them, checks its types, and runs its test and its pipeline.

export interface ProjectOptions {
  /** Name of the package. */
  name: string;
  /** Version of this Rowmill. */
  version: string;
}

/** Content by file name. */
export function projectFiles(options: ProjectOptions): Record<string, string> {
  return {
    'package.json': packageJson(options),
    'tsconfig.json': TSCONFIG,
    '.gitignore': GITIGNORE,
    'README.md': readme(options.name),
    'pipeline.ts': PIPELINE,
    'pipeline.test.ts': PIPELINE_TEST,
    'rows.csv': rowsCsv(),
  };
}

function packageJson({ name, version }: ProjectOptions): string {
  const content = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    scripts: {
      start: 'rowmill run pipeline.ts rows.csv --follow --out results.csv',
      test: 'node --import rowmill/register --test pipeline.test.ts',
    },
    dependencies: { rowmill: `^${version}`, zod: '^4.0.0' },
    devDependencies: { '@types/node': '^20.19.0' },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "skipLibCheck": true
  },
  "include": ["*.ts"]
}
`;

const GITIGNORE = `node_modules/
.rowmill/
results.csv
`;

function readme(name: string): string {
  return `# ${name}

Converts the prices in \`rows.csv\` to euros, row by row, with [Rowmill](https://www.npmjs.com/package/rowmill).

    npm install
    npm test       # the pipeline in virtual time, without a database
    npm start      # all rows, on a PostgreSQL that Rowmill brings along; results in results.csv

\`pipeline.ts\` is what happens to a row: replace it with your own. The database is in \`.rowmill\`; set DATABASE_URL to use
your own. The same file again is the same job: \`npm start -- --again\` starts a new one.
`;
}

const PIPELINE = `// Two phases: look up the rate of a currency, then convert the price. What a phase returned is stored, so a crash in
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
        // A real pipeline asks a service. Throw what is not ok: Rowmill reads status and headers of the error, waits as
        // long as Retry-After says, and tries 429, 5xx and timeouts again. Take signal and idempotencyKey from the
        // second argument of run.
        //
        // const url = \`https://rates.example/\${row.currency}\`;
        // const response = await fetch(url, { signal, headers: { 'Idempotency-Key': idempotencyKey } });
        // if (response.status === 404) return notFound(\`no rate for \${row.currency}\`);
        // if (!response.ok) {
        //   const { status, headers } = response;
        //   throw Object.assign(new Error(\`the rate service answered \${status}\`), { status, headers });
        // }
        // const { rate } = (await response.json()) as { rate: number };
        const rate = EUROS[row.currency];
        if (rate === undefined) return notFound(\`no rate for \${row.currency}\`);
        return { rate };
      },
    },
    {
      name: 'convert',
      run: (row, { previous }) => ({ euros: Math.round(row.price * previous.rate * 100) / 100 }),
    },
  ],
});
`;

const PIPELINE_TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryWaits, runPipeline } from 'rowmill/testing';
import { prices } from './pipeline.ts';

test('converts a price to euros', async () => {
  const { results } = await runPipeline(prices, [{ product: 'lamp', price: '10', currency: 'USD' }]);
  assert.equal(results[0]?.status, 'DONE');
  assert.deepEqual(results[0].result, { euros: 9.2 });
});

test('does not find a currency that does not exist', async () => {
  const { results } = await runPipeline(prices, [{ product: 'lamp', price: '10', currency: 'XXX' }]);
  assert.equal(results[0]?.status, 'NOT_FOUND');
});

test('waits as long as the service asks for, in virtual time', async () => {
  const { results, virtualMs } = await runPipeline(prices, [{ product: 'lamp', price: '10', currency: 'USD' }], {
    faults: [{ phase: 'rate', attempt: [1, 2], kind: 'status', status: 429, retryAfterSeconds: 60 }],
  });
  assert.equal(results[0]?.status, 'DONE');
  assert.equal(retryWaits(results[0]).length, 2);
  assert.ok(virtualMs >= 120_000);
});
`;

function rowsCsv(): string {
  const products = ['lamp', 'chair', 'table', 'shelf', 'carpet'];
  const currencies = ['EUR', 'USD', 'GBP', 'CHF'];
  const lines = ['product,price,currency'];
  for (const [row, currency] of currencies.entries()) {
    for (const [column, product] of products.entries()) {
      lines.push(`${product},${10 * (column + 1) + row}.50,${currency}`);
    }
  }
  // One that is not found, to show what becomes of it.
  lines[lines.length - 1] = 'carpet,53.50,XXX';
  return `${lines.join('\n')}\n`;
}
