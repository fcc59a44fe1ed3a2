// Where the bundle of a child's script is (bundle-children.ts). Apart from what makes it: every test process asks.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The file that holds a script and everything it imports, or null: the script itself is started then. */
export function bundledChild(script: string): string | null {
  const folder = process.env.TEST_CHILDREN;
  if (!folder || !script.startsWith(ROOT)) return null;
  const bundle = join(folder, `${bundleName(script.slice(ROOT.length))}.mjs`);
  return existsSync(bundle) ? bundle : null;
}

/** Takes a path from the root of the repository. */
export function bundleName(script: string): string {
  return script.replaceAll(/[\\/.]/g, '-');
}
