import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { guardSockets } from './test/support/guard-sockets.ts';
import { listUnitTests } from './test/support/unit-tests.ts';

/** Set by `npm run test:deep`: every case instead of a sample, and no second try. */
const isDeep = process.env.TEST_DEEP === '1';

/** Of all property tests: the same in each run of `npm test`, another in each of the deep lane, which prints it. */
process.env.TEST_SEED ??= isDeep ? String(Math.trunc(Math.random() * 2 ** 31)) : '1';

// Every process of the run, and every process that one starts, connects to loopback only.
guardSockets();

/** The same answer each time: models and interleavings, on the database but without clocks. */
const REPEATABLE = ['test/simulation/**/*.test.ts'];
const UNIT = listUnitTests();

const common = {
  pool: 'forks',
  // Log lines of workers in the test's own process are noise.
  env: { LOG_LEVEL: 'error' },
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 45_000 } },
  // A process loads the code once for all of its files: test/support/each-test-file.ts keeps them apart.
  isolate: false,
} as const;
const EACH_FILE = 'test/support/each-test-file.ts';

/** Listed at the end of the run (test/support/tried-again-reporter.ts). What a property test has found, stays found. */
const tryAgain = {
  ...(!isDeep && { retry: { count: 1, condition: /^(?!Property failed)/ } }),
  setupFiles: process.env.TEST_TWICE ? [EACH_FILE, 'test/support/fail-first-try.ts'] : [EACH_FILE],
};

/** One more than there are cores: many tests wait for a lease, a deadline or a process. */
const workers = Number(process.env.W ?? availableParallelism() + 1);

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tried-again-reporter.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          include: UNIT,
          setupFiles: [EACH_FILE],
          maxWorkers: workers,
        },
      },
      {
        test: {
          ...common,
          name: 'repeatable',
          include: REPEATABLE,
          exclude: UNIT,
          setupFiles: [EACH_FILE],
          maxWorkers: workers,
        },
      },
      {
        test: {
          ...common,
          ...tryAgain,
          name: 'together',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...UNIT, ...REPEATABLE],
          maxWorkers: workers,
        },
      },
    ],
  },
});
