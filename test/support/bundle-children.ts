// Bundles each program that tests start as a child process into one file for the run. Otherwise a child loads 500
// modules, which takes longer than its work. The code is that of dist/ or of the sources, unchanged; each module keeps
// its address, so that it finds its threads, migrations and package.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { bundleName, ROOT } from './bundled-child.ts';

const SCRIPTS = [
  'examples/transactions/worker.ts',
  'test/chaos/phases-child.mjs',
  'test/chaos/source-poller-child.ts',
  'test/chaos/told-child.ts',
  'test/chaos/worker-child.mjs',
  'test/support/blob-store-child.ts',
];
/** Optional, large or loaded by path: not bundled. */
const EXTERNAL = ['@aws-sdk/client-s3', 'basic-ftp', 'jiti', 'pg-native', 'pino', 'ssh2-sftp-client'];

/** Returns a function that removes the files. Without dist/ there are none: children that need it report that. */
export async function bundleChildren(): Promise<() => void> {
  if (!existsSync(join(ROOT, 'dist/index.js'))) return () => {};
  // In node_modules, so that packages are resolved.
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'rowmill-test-'));
  await build({
    configFile: false,
    root: ROOT,
    logLevel: 'error',
    plugins: [{ name: 'keep-addresses', transform: keepAddress }],
    ssr: { noExternal: true, external: EXTERNAL },
    build: {
      ssr: true,
      outDir: folder,
      target: 'node20',
      minify: false,
      copyPublicDir: false,
      rolldownOptions: {
        input: Object.fromEntries(SCRIPTS.map((script) => [bundleName(script), join(ROOT, script)])),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  });
  process.env.TEST_CHILDREN = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function keepAddress(code: string, id: string): string | null {
  if (!code.includes('import.meta.url')) return null;
  return code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id.split('?')[0]!).href));
}
