// The demo of the README: generates products, starts the stand-in service, and runs the command line with both.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generateProductsCsv } from './generate-products.ts';
import { startPriceService } from './price-service.ts';

const rows = Number(process.env.DEMO_ROWS ?? 10_000);
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const pipeline = fileURLToPath(new URL('./pipeline.ts', import.meta.url));

mkdirSync('out', { recursive: true });
await generateProductsCsv('out/products.csv', { rows, seed: 7 });
console.error(`out/products.csv: ${rows} generated products`);
const service = await startPriceService({
  seed: 7,
  latencyMs: [10, 80],
  rateLimitPerSecond: 600,
  error5xxRate: 0.02,
  notFoundRate: 0.05,
});
console.error(
  `a flaky price service on ${service.url}: 10-80 ms, 600 calls/s then 429, 2 % 5xx, 5 % unknown products`,
);

const child = spawn(
  process.execPath,
  [
    main,
    'run',
    pipeline,
    'out/products.csv',
    '--follow',
    // Without it, the same file would yield the same, finished job.
    '--again',
    '--out',
    'out/products-priced.csv',
    '--data-dir',
    '.rowmill/demo',
  ],
  { stdio: 'inherit', env: { ...process.env, PRICE_SERVICE_URL: service.url } },
);
// Ctrl-C also reaches the child, which shuts down gracefully; wait for it.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
const [code] = await once(child, 'exit');
const { calls, answers } = service.stats();
console.error(
  `the service saw ${calls} calls: ${Object.entries(answers)
    .map(([answer, n]) => `${answer} ${n}`)
    .join(', ')}`,
);
await service.stop();
process.exitCode = code ?? 1;
