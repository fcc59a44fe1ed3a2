// Finds the bundle of a child's script (bundle-children.ts). A separate file, because every test process loads it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The file that contains a script and all its imports; null if the script itself has to be started. */
export function bundledChild(script: string): string | null {
  const folder = process.env.TEST_CHILDREN;
  if (!folder || !script.startsWith(ROOT)) return null;
  const bundle = join(folder, `${bundleName(script.slice(ROOT.length))}.mjs`);
  return existsSync(bundle) ? bundle : null;
}

/** Takes a path relative to the repository root. */
export function bundleName(script: string): string {
  return script.replaceAll(/[\\/.]/g, '-');
}
