// A pipeline in a separate module, because threads load it again: for budgets.test.ts.
import { definePipeline } from '../../dist/index.js';

export const paidThreads = definePipeline({
  name: 'paid-threads',
  phases: [
    {
      name: 'compute',
      thread: true,
      concurrency: 2,
      cost: (row) => (row.n === 7 ? Number.NaN : 1),
      retry: { crashed: { maxAttempts: 1 } },
      run: (row, { cost }) => {
        if (row.n === 3) process.exit(1);
        if (row.n < 3) cost(0.5);
        return { n: row.n };
      },
    },
  ],
});
