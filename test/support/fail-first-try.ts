// Fails the first try of each test after its end. A test that then fails cannot be tried again: it finds what its first try
// left behind. Set by TEST_TWICE (vitest.config.ts).
import { afterEach } from 'vitest';

afterEach(({ task }) => {
  if (task.result?.retryCount === 0) throw new Error('tried again because of TEST_TWICE');
});
