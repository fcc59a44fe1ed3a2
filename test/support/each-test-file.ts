// Runs before each test file. Test files share their process: this gives the next one the environment, the clock and the
// globals that this one found, and stops what its tests started.
import { afterAll, afterEach, vi } from 'vitest';
import { stopStarted } from './stop-after-test.ts';

const environment = { ...process.env };

afterEach(stopStarted);

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
});
