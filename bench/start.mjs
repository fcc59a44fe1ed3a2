// Entry of `npm run bench`, for any Node: installs bench/ once (the peers and Node 24, because their newest versions
// need Node 22 or later) and runs run.ts with that Node, which strips the types itself.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const isWindows = process.platform === 'win32';

const installed = path('node_modules/.package-lock.json');
if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(path('package-lock.json')).mtimeMs) {
  // npm's output goes to stderr, so that stdout has only the table and the JSON line.
  const install = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: here,
    stdio: ['ignore', 2, 2],
    shell: isWindows,
  });
  if (install.status !== 0) process.exit(install.status ?? 1);
}

// Platforms without a bundled Node in package.json use the Node that runs this script.
const bundled = path('node_modules/.bin/node');
const isBundled = !isWindows && existsSync(bundled);
if (!isBundled && Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `expected Node 24 or later to run the bench on ${process.platform}-${process.arch}, got ${process.version}`,
  );
  process.exit(1);
}

const args = ['--disable-warning=ExperimentalWarning', path('run.ts'), ...process.argv.slice(2)];
// Parts without peers are measured on the Node that started the bench.
const env = { ...process.env, BENCH_NODE: process.execPath };
const child = spawn(isBundled ? bundled : process.execPath, args, { stdio: 'inherit', env });
// The child stops its PostgreSQL before it exits.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => process.exit(code ?? 1));
