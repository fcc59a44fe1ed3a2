// The files of a new project, as `rowmill init` writes them: those of the folder template, and a package.json. They have
// to run as they are: test/cli/init.test.ts checks their types and runs their test and their pipeline.
import { readdirSync, readFileSync } from 'node:fs';

const TEMPLATE = new URL('../../template/', import.meta.url);
/** npm leaves out files of the first name when it packs a package. */
const PACKED_NAMES: Record<string, string> = { gitignore: '.gitignore' };

export interface ProjectOptions {
  /** Name of the package. */
  name: string;
  /** Version of this Rowmill. */
  version: string;
}

/** Content by file name. */
export function projectFiles(options: ProjectOptions): Record<string, string> {
  const files: Record<string, string> = { 'package.json': packageJson(options) };
  for (const file of readdirSync(TEMPLATE).sort()) {
    const content = readFileSync(new URL(file, TEMPLATE), 'utf8');
    files[PACKED_NAMES[file] ?? file] = content.replaceAll('{{name}}', options.name);
  }
  return files;
}

function packageJson({ name, version }: ProjectOptions): string {
  const content = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    scripts: {
      start: 'rowmill run pipeline.ts rows.csv --follow --out results.csv',
      test: 'node --import rowmill/register --test pipeline.test.ts',
    },
    dependencies: { rowmill: `^${version}`, zod: '^4.0.0' },
    devDependencies: { '@types/node': '^20.19.0' },
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}
