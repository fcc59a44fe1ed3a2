// rowmill init [folder]: creates a small project that runs without changes. Existing files are never overwritten; an
// existing package.json is completed.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import { VERSION } from '../../platform/version.ts';
import { ownOrigin } from '../own-origin.ts';
import { completePackageJson, projectFiles } from '../project-files.ts';

export interface InitOptions {
  name?: string;
  json?: boolean;
}

/** Entries that a folder may hold and still count as empty. */
const HARMLESS = ['.git', 'node_modules', 'package.json', 'package-lock.json'];
const PACKAGE_NAME = /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][a-z0-9._-]*$/;
const MAX_NAME_LENGTH = 214;

export async function init(folder: string | undefined, given: InitOptions): Promise<number> {
  const target = resolve(folder ?? '.');
  const name = given.name ?? nameOf(target);
  if (name.length > MAX_NAME_LENGTH || !PACKAGE_NAME.test(name)) {
    throw new RowmillError(
      'PROJECT_INVALID',
      `expected --name to be a package name such as my-prices, got ${JSON.stringify(name)}`,
      { hint: 'Use lower-case letters, digits, dots, dashes and underscores, with a letter or digit first.' },
    );
  }
  refuseFull(target);
  const options = { name, rowmill: ownOrigin(VERSION) };
  const { 'package.json': ownPackage, ...files } = projectFiles(options);
  const packagePath = join(target, 'package.json');
  const isCompleted = existsSync(packagePath);
  try {
    mkdirSync(target, { recursive: true });
    if (isCompleted)
      writeFileSync(packagePath, completePackageJson(readFileSync(packagePath, 'utf8'), options));
    else writeFileSync(packagePath, ownPackage!, { flag: 'wx' });
    // wx: a file that was created since the check is not overwritten.
    for (const [file, content] of Object.entries(files))
      writeFileSync(join(target, file), content, { flag: 'wx' });
  } catch (cause) {
    throw new RowmillError(
      'PROJECT_INVALID',
      `cannot write the project to ${target}: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (given.json) {
    console.log(JSON.stringify({ folder: target, files: ['package.json', ...Object.keys(files)] }));
    return 0;
  }
  const way = relative(process.cwd(), target);
  const done = isCompleted ? 'Completed package.json and created' : 'Created package.json,';
  console.log(`${done} ${Object.keys(files).join(', ')} in ${target}\n\nNext:`);
  const enter = way === '' ? '' : `cd ${/^[\w./-]+$/.test(way) ? way : JSON.stringify(way)} && `;
  console.log(`  ${enter}npm install`);
  console.log('  npm test       # runs the pipeline in virtual time, without a database');
  console.log('  npm run dev    # opens the page, which offers rows.csv for a first job');
  return 0;
}

function refuseFull(target: string): void {
  const status = statSync(target, { throwIfNoEntry: false });
  if (!status) return;
  if (!status.isDirectory())
    throw new RowmillError('PROJECT_INVALID', `expected ${target} to be a folder, it is a file`);
  const found = readdirSync(target).filter((entry) => !HARMLESS.includes(entry));
  if (found.length === 0) return;
  const some = found.slice(0, 3).join(', ') + (found.length > 3 ? ` and ${found.length - 3} more` : '');
  throw new RowmillError('PROJECT_INVALID', `expected ${target} to be empty, it holds ${some}`);
}

function nameOf(target: string): string {
  const name = basename(target)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '');
  return withoutTrailing(name, '._-') || 'rowmill-project';
}
