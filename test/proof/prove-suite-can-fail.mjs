// Shows that the tests can fail: takes one safety out of a copy of the source at a time, and expects the tests that
// stand for it to go red. Exits 1 when one stays green.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

const MUTATIONS = [
  {
    name: 'the token check of the fence',
    file: 'src/store/commands/fence-leases.ts',
    from: 's.token = w.token and s.items @> w.recorded',
    to: 's.items @> w.recorded',
    tests: ['test/simulation/interleavings.test.ts', 'test/simulation/model.test.ts'],
  },
  {
    name: 'the finish condition: no span left',
    file: 'src/store/commands/begin-finalizing.ts',
    from: 'and not exists (select 1 from spans s where s.job_id = $1)',
    to: '',
    tests: ['test/simulation/interleavings.test.ts'],
  },
  {
    name: 'the finish condition: sealed',
    file: 'src/store/commands/begin-finalizing.ts',
    from: 'and j.sealed_at is not null',
    to: '',
    tests: ['test/simulation/interleavings.test.ts'],
  },
  {
    name: "the database's clock: leases expire by the worker's",
    file: 'src/store/commands/claim-items.ts',
    from: "now() + $7::float8 * interval '1 millisecond'",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is put into a template string
    to: "to_timestamp(${Date.now()} / 1000.0) + $7::float8 * interval '1 millisecond'",
    tests: ['test/chaos/clock-skew.test.ts'],
  },
];

const ignored = new Set(['node_modules', '.git', 'dist', '.rowmill', 'out', 'bench']);

function copyRepository() {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-proof-'));
  cpSync(root, folder, {
    recursive: true,
    filter: (path) => !ignored.has(relative(root, path).split(sep)[0]),
  });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return folder;
}

function run(folder, command, args) {
  return spawnSync(command, args, { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' });
}

function testFails(mutation) {
  const folder = copyRepository();
  try {
    const path = join(folder, mutation.file);
    const source = readFileSync(path, 'utf8');
    if (!source.includes(mutation.from))
      throw new Error(`${mutation.file} does not contain: ${mutation.from}`);
    writeFileSync(path, source.replaceAll(mutation.from, mutation.to));
    const built = run(folder, 'npx', ['tsc', '-p', 'tsconfig.build.json']);
    if (built.status !== 0) throw new Error(`the mutated source does not compile:\n${built.stdout}`);
    const tested = run(folder, 'npx', ['vitest', 'run', '--reporter=json', ...mutation.tests]);
    const report = JSON.parse(tested.stdout.slice(tested.stdout.indexOf('{"numTotalTestSuites"')));
    return report.testResults
      .flatMap((file) => file.assertionResults)
      .filter((test) => test.status === 'failed')
      .map((test) => test.fullName);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let stayedGreen = 0;
for (const mutation of MUTATIONS) {
  const failed = testFails(mutation);
  if (failed.length === 0) stayedGreen += 1;
  console.log(`${failed.length > 0 ? 'red  ' : 'GREEN'} without ${mutation.name}`);
  for (const name of failed.slice(0, 3)) console.log(`        ${name}`);
}
console.log(
  stayedGreen === 0 ? 'every safety is guarded by a test' : `${stayedGreen} safeties are not guarded`,
);
process.exit(stayedGreen === 0 ? 0 : 1);
