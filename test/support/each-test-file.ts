// Runs before each test file. Test files share a process: this restores the environment, the clock and the globals for
// the next file, and stops what the tests started. Property tests use the seed of the run.
import { configureGlobal, readConfigureGlobal } from 'fast-check';
import { afterAll, afterEach, vi } from 'vitest';
import { stopStarted } from './stop-after-test.ts';

const environment = { ...process.env };
configureGlobal({ ...readConfigureGlobal(), seed: Number(process.env.TEST_SEED) });

afterEach(stopStarted);

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
});
