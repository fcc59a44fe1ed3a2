// Bundles each program that tests start as a child process into one file for the run: the command line, its worker
// processes and threads, and the scripts of tests. Otherwise a child loads 500 modules, which takes longer than its
// work. The code is that of dist/ or of the sources, unchanged; each module keeps its address, so that it finds its
// migrations and package. test/cli/init.test.ts and newcomer-journey.test.ts run the package as it is published.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { bundleName, ROOT } from './bundled-child.ts';

const SCRIPTS = [
  'dist/cli/main.js',
  'dist/index.js',
  'examples/transactions/worker.ts',
  'test/chaos/phases-child.mjs',
  'test/chaos/source-poller-child.ts',
  'test/chaos/told-child.ts',
  'test/chaos/worker-child.mjs',
  'test/support/blob-store-child.ts',
  'test/support/embedded-postgres-child.ts',
];
/** Started by the program itself, by `compiledFile`. */
const STARTED = [
  'dist/ingest/formats/file-thread.js',
  'dist/worker/leases/lease-keeper-thread.js',
  'dist/worker/process/worker-child.js',
  'dist/worker/run/handler-thread.js',
];
/** Modules that get no address of their own. */
const AS_WRITTEN = [
  // Prints a sample that contains `import.meta.url`.
  'dist/cli/commands/try.js',
  // Hides the frames of its own folder, which here is that of the bundles.
  'dist/cli/try/trace-lines.js',
];
/** Optional, large or loaded by path: not bundled. */
const EXTERNAL = [
  '@aws-sdk/client-s3',
  '@fastify/swagger',
  '@fastify/swagger-ui',
  'basic-ftp',
  'jiti',
  'nodemailer',
  'pg-native',
  'pino',
  'ssh2-sftp-client',
];

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
    plugins: [{ name: 'keep-addresses', transform: (code, id) => keepAddresses(folder, code, id) }],
    ssr: { noExternal: true, external: EXTERNAL },
    build: {
      ssr: true,
      outDir: folder,
      target: 'node20',
      minify: false,
      copyPublicDir: false,
      rolldownOptions: {
        input: Object.fromEntries(
          [...SCRIPTS, ...STARTED].map((script) => [bundleName(script), join(ROOT, script)]),
        ),
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  });
  process.env.TEST_CHILDREN = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function keepAddresses(folder: string, code: string, id: string): string | null {
  const [path] = id.split('?') as [string];
  if (!code.includes('import.meta.url') || AS_WRITTEN.includes(relative(ROOT, path))) return null;
  return code
    .replaceAll(/compiledFile\(import\.meta\.url, '([\w-]+\.js)'\)/g, (call, name: string) => {
      const script = relative(ROOT, join(dirname(path), name));
      return STARTED.includes(script) ? JSON.stringify(join(folder, `${bundleName(script)}.mjs`)) : call;
    })
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
}
