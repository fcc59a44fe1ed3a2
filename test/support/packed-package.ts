// The package that npm packs, installed without the network.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the path of the tarball in `folder`. */
export function pack(source: string, folder: string): string {
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: source,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return join(folder, /[\w-]*rowmill-[\w.-]+\.tgz/.exec(packed)![0]);
}

/** Like `npm install rowmill-….tgz`, but with links to the modules of this repository, so that nothing is fetched. */
export function installPacked(tarball: string, project: string): void {
  const modules = join(project, 'node_modules');
  const own = join(modules, 'rowmill');
  mkdirSync(own, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components', '1']);
  const { bin, dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(own, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  // Link only declared dependencies: an import of any other module must fail.
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    if (!existsSync(join(repository, 'node_modules', name))) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(repository, 'node_modules', name), join(modules, name));
  }
  mkdirSync(join(modules, '.bin'));
  for (const [name, path] of Object.entries(bin!)) {
    chmodSync(join(own, path), 0o755);
    symlinkSync(join('..', 'rowmill', path), join(modules, '.bin', name));
  }
}
