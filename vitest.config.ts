import { defineConfig } from 'vitest/config';

/** What is asserted there depends on when things happen: these run after the others, one at a time. */
const ALONE = [
  'test/chaos/shared-limits.test.ts',
  'test/engine/control-under-load.test.ts',
  'test/engine/fairness.test.ts',
  'test/engine/phase-priority.test.ts',
  'test/engine/pressure.test.ts',
  'test/engine/ramps.test.ts',
  'test/engine/resources.test.ts',
];

const common = {
  pool: 'forks',
  // What is waited for comes at some time; how soon is no question of a busy machine.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 120_000 } },
} as const;

/** The same answer each time: pure code, virtual time, models and interleavings. The others have clocks and sockets. */
const PURE = [
  'src/{core,contract}/**/*.test.ts',
  'web/**/*.test.ts',
  'test/*.test.ts',
  'test/{corpus,simulation}/**/*.test.ts',
];

/** Said at the end of the run (test/support/tried-again-reporter.ts). What a property test has found, stays found. */
const tryAgain = {
  retry: { count: 1, condition: /^(?!Property failed)/ },
  setupFiles: process.env.TEST_TWICE ? ['test/support/fail-first-try.ts'] : [],
};

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tried-again-reporter.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'pure',
          include: PURE,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          ...tryAgain,
          name: 'together',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...PURE, ...ALONE],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          ...tryAgain,
          name: 'alone',
          include: ALONE,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
