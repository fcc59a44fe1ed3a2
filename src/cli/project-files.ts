// Files of a new project: those of the folder template, and a package.json. They must run without changes:
// test/cli/init.test.ts checks their types and runs their test and their pipeline.
import { readdirSync, readFileSync } from 'node:fs';

/** The same versions as in Rowmill's own package.json. */
const NODE_VERSIONS = '^20.19.0 || >=22.12.0';
const TEMPLATE = new URL('../../template/', import.meta.url);
/** Names in the template and in the project. npm does not pack a file named .gitignore. */
const PACKED_NAMES: Record<string, string> = { gitignore: '.gitignore' };

export interface ProjectOptions {
  /** Name of the package. */
  name: string;
  /** Version range, file or folder from which npm installs Rowmill. */
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
      dev: 'rowmill dev --open',
      start: 'rowmill run prices rows.csv --follow --out results.csv',
      test: 'node --import rowmill/register --test *.test.ts',
      try: 'rowmill try',
    },
    dependencies: { rowmill, zod: '^4.0.0' },
    devDependencies: { '@types/node': '^20.19.0' },
  };
}

/** Adds missing scripts and dependencies to an existing package.json. */
export function completePackageJson(existing: string, options: ProjectOptions): string {
  const wanted = packageJson(options);
  const given = JSON.parse(existing) as Record<string, Record<string, string> | undefined>;
  const { dependencies = {}, devDependencies = {}, scripts = {} } = given;
  const known = { ...dependencies, ...devDependencies };
  const lacks = (all: object): object =>
    Object.fromEntries(Object.entries(all).filter(([name]) => known[name] === undefined));
  // `npm init` writes a placeholder for the test script.
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
