// Fails the first attempt of each test after its end. A test that then fails cannot be retried, because it finds
// leftovers of its first attempt. Set by TEST_TWICE (vitest.config.ts).
import { afterEach } from 'vitest';

afterEach(({ task }) => {
  if (task.result?.retryCount === 0) throw new Error('tried again because of TEST_TWICE');
});
