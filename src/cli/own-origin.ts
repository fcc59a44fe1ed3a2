// Finds where this copy of Rowmill was installed from, so that a new project gets the same one, even from a tarball or
// a clone before a release.
import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE_FOLDER = fileURLToPath(new URL('../../', import.meta.url));

/** Version or path for the dependency `rowmill` in a project's package.json. */
export function ownOrigin(version: string, folder: string = PACKAGE_FOLDER): string {
  const own = resolve(folder);
  const modules = dirname(own);
  if (basename(modules) !== 'node_modules') return `file:${own}`;
  const project = dirname(modules);
  const spec = declaredIn(project);
  if (spec === undefined) return `^${version}`;
  if (spec.startsWith('file:')) return `file:${resolve(project, spec.slice('file:'.length))}`;
  return /^(https?|git|git\+\w+|github):/.test(spec) ? spec : `^${version}`;
}

function declaredIn(project: string): string | undefined {
  try {
    const read = JSON.parse(readFileSync(resolve(project, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
      devDependencies?: Record<string, string>;
    };
    return read.dependencies?.rowmill ?? read.devDependencies?.rowmill;
  } catch {
    // A global installation is not part of a project.
    return undefined;
  }
}
