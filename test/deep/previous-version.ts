// Builds the commit or tag named in previous-commit.txt, so that a test can run it beside this version. A release writes
// its own tag there.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

export function buildPreviousVersion(): { folder: string; remove(): void } {
  const commit = readFileSync(join(import.meta.dirname, 'previous-commit.txt'), 'utf8').trim();
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: ROOT, stdio: 'pipe' });
  try {
    git('cat-file', '-e', `${commit}^{commit}`);
  } catch {
    throw new Error(`Commit ${commit} is missing. Fetch the whole history: git fetch --unshallow --tags.`);
  }
  const folder = join(mkdtempSync(join(tmpdir(), 'rowmill-previous-')), 'package');
  git('worktree', 'add', '--detach', folder, commit);
  const remove = (): void => {
    git('worktree', 'remove', '--force', folder);
    rmSync(resolve(folder, '..'), { recursive: true, force: true });
  };
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
    execFileSync('npx', ['tsc', '-p', 'tsconfig.build.json'], { cwd: folder, stdio: 'inherit' });
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, remove };
}
