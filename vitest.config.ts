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

/** Real processes, sockets and browsers; everything else gives the same answer each time. */
const PROCESSES = ['test/{api,chaos,cli,client,e2e,engine,examples}/**/*.test.ts'];

/** Said at the end of the run (test/support/tried-again-reporter.ts). What a property test has found, stays found. */
const tryAgain = { retry: { count: 1, condition: /^(?!Property failed)/ } };

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', './test/support/tried-again-reporter.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'units',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
          exclude: [...PROCESSES, ...ALONE],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          ...tryAgain,
          name: 'together',
          include: PROCESSES,
          exclude: ALONE,
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
