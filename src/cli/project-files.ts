// The files of a new project, as `rowmill init` writes them: those of the folder template, and a package.json. They have
// to run as they are: test/cli/init.test.ts checks their types and runs their test and their pipeline.
import { readdirSync, readFileSync } from 'node:fs';

/** As in package.json of Rowmill itself. */
const NODE_VERSIONS = '^20.19.0 || >=22.12.0';
const TEMPLATE = new URL('../../template/', import.meta.url);
/** npm leaves out files of the first name when it packs a package. */
const PACKED_NAMES: Record<string, string> = { gitignore: '.gitignore' };

export interface ProjectOptions {
  /** Name of the package. */
  name: string;
  /** Where npm gets Rowmill from: a range of versions, or the file or folder that this one came from. */
  rowmill: string;
}

/** Content by file name. */
export function projectFiles(options: ProjectOptions): Record<string, string> {
  const files: Record<string, string> = {
    'package.json': `${JSON.stringify(packageJson(options), null, 2)}\n`,
  };
  for (const file of readdirSync(TEMPLATE).sort()) {
    const content = readFileSync(new URL(file, TEMPLATE), 'utf8');
    files[PACKED_NAMES[file] ?? file] = content.replaceAll('{{name}}', options.name);
  }
  return files;
}

function packageJson({ name, rowmill }: ProjectOptions): Record<string, unknown> {
  return {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: { node: NODE_VERSIONS },
    scripts: {
      start: 'rowmill run pipeline.ts rows.csv --follow --out results.csv',
      test: 'node --import rowmill/register --test pipeline.test.ts',
    },
    dependencies: { rowmill, zod: '^4.0.0' },
    devDependencies: { '@types/node': '^20.19.0' },
  };
}

/** A package.json that exists, with the scripts and dependencies of a project that it lacks. */
export function completePackageJson(existing: string, options: ProjectOptions): string {
  const wanted = packageJson(options);
  const given = JSON.parse(existing) as Record<string, Record<string, string> | undefined>;
  const { dependencies = {}, devDependencies = {}, scripts = {} } = given;
  const known = { ...dependencies, ...devDependencies };
  const lacks = (all: object): object =>
    Object.fromEntries(Object.entries(all).filter(([name]) => known[name] === undefined));
  // The script that `npm init` writes is not a test.
  const { test, ...others } = scripts;
  const own = test === undefined || test.includes('no test specified') ? others : scripts;
  const complete = {
    ...given,
    scripts: { ...(wanted.scripts as object), ...own },
    dependencies: { ...dependencies, ...lacks(wanted.dependencies as object) },
    devDependencies: { ...devDependencies, ...lacks(wanted.devDependencies as object) },
  };
  return `${JSON.stringify(complete, null, 2)}\n`;
}
