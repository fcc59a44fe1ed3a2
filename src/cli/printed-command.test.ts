import { afterEach, expect, test, vi } from 'vitest';
import { printedCommand } from './printed-command.ts';

afterEach(() => vi.unstubAllEnvs());

test('a printed command is quoted for the shell and names the same database', () => {
  vi.stubEnv('npm_config_user_agent', undefined);
  expect(printedCommand(['run', 'p.ts#prices', '--out', "it's mine.csv"], { dataDir: '/tmp/a b' })).toBe(
    `rowmill run p.ts#prices --out 'it'\\''s mine.csv' --data-dir '/tmp/a b'`,
  );
  expect(printedCommand(['jobs', 'errors', 'x'], { databaseUrl: 'postgres://me:secret@db/x' })).toBe(
    'rowmill jobs errors x --database-url postgres://me:PASSWORD@db/x',
  );
});

test('a printed command uses npx if npm started this one', () => {
  vi.stubEnv('npm_config_user_agent', 'npm/11');
  expect(printedCommand(['jobs', 'list'])).toBe('npx rowmill jobs list');
});
