// `npm run release -- <major | minor | patch | version>`: checks, packs and tags a release. With --dry-run it changes
// nothing and prints what it would do. A pushed tag makes the workflow publish.yml publish both packages.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { nextVersion, releaseNotes, withVersion } from './plan-release.ts';

/** Files that have the version. */
const VERSIONED = ['package.json', 'create-rowmill/package.json', 'deploy/helm/rowmill/Chart.yaml'];
/** The version that the deep lane runs beside the next one. */
const PREVIOUS = 'test/deep/previous-commit.txt';
const CHANGED = [...VERSIONED, PREVIOUS, 'package-lock.json', 'CHANGELOG.md'];

interface Packed {
  name: string;
  entryCount: number;
  size: number;
  unpackedSize: number;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function npm(args: readonly string[], cwd?: string): string {
  const shell = process.platform === 'win32';
  return execFileSync('npm', args, {
    encoding: 'utf8',
    shell,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(cwd && { cwd }),
  });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

/** Builds both packages as npm publish would, and returns what they contain. */
function pack(): Packed[] {
  const listings = [
    npm(['pack', '--dry-run', '--json']),
    npm(['pack', '--dry-run', '--json'], 'create-rowmill'),
  ];
  return listings.flatMap((listing) => JSON.parse(listing.slice(listing.indexOf('['))) as Packed[]);
}

const words = process.argv.slice(2);
const isDry = words.includes('--dry-run');
const wanted = words.find((word) => !word.startsWith('-')) ?? 'patch';
const current = (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version;
const version = nextVersion(current, wanted);
const date = new Date().toISOString().slice(0, 10);
const { changelog, notes } = releaseNotes(readFileSync('CHANGELOG.md', 'utf8'), version, date);

if (!isDry && git('status', '--porcelain') !== '')
  throw new Error('expected a clean working tree: commit or stash the changes first');
if (git('tag', '--list', `v${version}`) !== '')
  throw new Error(`expected v${version} to be new: the tag exists`);

npm(['run', '-s', 'build']);
npm(['run', '-s', 'check']);
for (const { name, entryCount, size, unpackedSize } of pack())
  console.log(
    `${name}@${version}: ${entryCount} files, ${megabytes(size)} packed, ${megabytes(unpackedSize)} unpacked`,
  );
console.log(
  `Changelog of ${version}: ${notes.split('\n').filter((line) => line.startsWith('- ')).length} entries`,
);

if (isDry) {
  console.log(`Would change: ${CHANGED.join(', ')}`);
  console.log(
    `Would commit and tag v${version}; after git push --follow-tags, publish.yml publishes both packages.`,
  );
} else {
  for (const path of VERSIONED) writeFileSync(path, withVersion(readFileSync(path, 'utf8'), version));
  writeFileSync('CHANGELOG.md', changelog);
  writeFileSync(PREVIOUS, `v${version}\n`);
  npm(['install', '--package-lock-only', '--ignore-scripts']);
  git('add', ...CHANGED);
  git('commit', '--quiet', '--message', `Release ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', notes);
  console.log(`Tagged v${version}. Publish it with: git push --follow-tags`);
}
