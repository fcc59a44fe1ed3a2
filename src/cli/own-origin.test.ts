import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ownOrigin } from './own-origin.ts';

const project = mkdtempSync(join(tmpdir(), 'rowmill-origin-'));
const installed = join(project, 'node_modules/rowmill');
mkdirSync(installed, { recursive: true });

afterAll(() => rmSync(project, { recursive: true, force: true }));

test.each([
  ['a release', '^1.2.0', '^1.2.3'],
  ['a tarball', 'file:rowmill-1.2.3.tgz', `file:${join(project, 'rowmill-1.2.3.tgz')}`],
  ['a repository', 'git+https://example.org/rowmill.git', 'git+https://example.org/rowmill.git'],
  ['an alias of npm', 'npm:rowmill@1', '^1.2.3'],
])('a new project depends on the Rowmill that created it: %s', (_, spec, origin) => {
  writeFileSync(join(project, 'package.json'), JSON.stringify({ dependencies: { rowmill: spec } }));
  expect(ownOrigin('1.2.3', installed)).toBe(origin);
});

test('a new project depends on the Rowmill that created it: a global installation, and a clone', () => {
  rmSync(join(project, 'package.json'), { force: true });
  expect(ownOrigin('1.2.3', installed)).toBe('^1.2.3');
  expect(ownOrigin('1.2.3', join(project, 'clone'))).toBe(`file:${join(project, 'clone')}`);
});
