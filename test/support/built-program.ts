// The compiled program as tests start it: its bundles (bundle-children.ts).
import { join } from 'node:path';
import { bundledChild, ROOT } from './bundled-child.ts';

function built(script: string): string {
  const path = join(ROOT, script);
  return bundledChild(path) ?? path;
}

/** The command line. */
export const MAIN = built('dist/cli/main.js');
/** The module that pipelines import as `rowmill`. */
export const LIBRARY = built('dist/index.js');
