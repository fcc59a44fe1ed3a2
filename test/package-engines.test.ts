// Installing Rowmill causes no engine warning on the Node versions that package.json supports. Two dependencies are
// pinned for this: @fastify/static from 10.1.4 and light-my-request from 6.8 bring packages that need Node 22.
import { readFileSync } from 'node:fs';
import semver from 'semver';
import { expect, test } from 'vitest';

interface Locked {
  dev?: boolean;
  version?: string;
  engines?: { node?: string };
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
const { engines } = read('package.json') as { engines: { node: string } };

test('every package installed with Rowmill runs on every supported Node version', () => {
  const refused = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .filter(([, { engines: own }]) => own?.node && !semver.subset(engines.node, own.node))
    .map(([path, { version, engines: own }]) => `${path} ${version}: ${own!.node}`);
  expect(refused).toEqual([]);
});
