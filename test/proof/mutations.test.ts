// Each mutation still matches the source. `npm run prove`, which runs them, takes too long to be the first to notice.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { MUTATIONS } from './mutations.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test.each(MUTATIONS)('the source has $name, and its tests exist', ({ file, from, to, tests }) => {
  expect(readFileSync(join(ROOT, file), 'utf8')).toContain(from);
  expect(to).not.toBe(from);
  for (const path of tests) expect(existsSync(join(ROOT, path)), path).toBe(true);
});

test('mutations have different names', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
});
