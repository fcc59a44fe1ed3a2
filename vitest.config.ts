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

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'together',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
          exclude: ALONE,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...common, name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
