// The source files of Rowmill for tests about the repository: without comments, and split into strings and imports. A
// scanner for this code base, not a parser for every TypeScript file.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));

export interface SourceImport {
  /** True for `import type`: gone at run time. */
  typeOnly: boolean;
  /** Imported by `import()`. */
  isOnDemand: boolean;
  /** Path from the repository root for relative imports, otherwise the package. */
  target: string;
}

export interface SourceFile {
  /** Path from the repository root: src/core/jobs/job-state.ts. */
  path: string;
  lineCount: number;
  /** The text without comments. */
  code: string;
  strings: string[];
  imports: SourceImport[];
}

/** All files under src except tests. */
export function readSources(): SourceFile[] {
  return listFiles('src')
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => {
      const text = readFileSync(join(REPOSITORY, path), 'utf8');
      const { code, strings } = scan(text);
      return { path, lineCount: text.split('\n').length - 1, code, strings, imports: importsOf(path, code) };
    });
}

/** Files under a folder of the repository, without installed packages and build output. */
export function listFiles(folder: string): string[] {
  return readdirSync(join(REPOSITORY, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(REPOSITORY, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !/(^|\/)(node_modules|dist)\//.test(path))
    .sort();
}

function importsOf(path: string, code: string): SourceImport[] {
  const found: SourceImport[] = [];
  const pattern = /^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s+)?'([^']+)'/gm;
  for (const [statement, type, target] of code.matchAll(pattern)) {
    const names =
      /\{([^}]*)\}/
        .exec(statement)?.[1]
        ?.split(',')
        .filter((name) => name.trim() !== '') ?? [];
    const typesOnly = names.length > 0 && names.every((name) => /^\s*type\s/.test(name));
    found.push({
      typeOnly: type !== undefined || typesOnly,
      isOnDemand: false,
      target: resolveTarget(path, target!),
    });
  }
  for (const match of code.matchAll(/\bimport\('(\.[^']+)'\)/g)) {
    found.push({ typeOnly: false, isOnDemand: true, target: resolveTarget(path, match[1]!) });
  }
  return found;
}

function resolveTarget(path: string, target: string): string {
  return target.startsWith('.') ? join(dirname(path), target).replaceAll('\\', '/') : target;
}

/** Removes comments and collects strings; a template, without its substitutions, is one string. */
function scan(text: string): { code: string; strings: string[] } {
  const strings: string[] = [];
  let code = '';
  let at = 0;

  const take = (length: number): string => {
    const taken = text.slice(at, at + length);
    code += taken;
    at += length;
    return taken;
  };
  const quoted = (quote: string): void => {
    let value = '';
    take(1);
    while (at < text.length && text[at] !== quote) {
      if (quote === '`' && text.startsWith('${', at)) {
        take(2);
        statements('}');
        value += ' ';
      } else value += text[at] === '\\' ? take(2) : take(1);
    }
    take(1);
    strings.push(value);
  };
  const regularExpression = (): void => {
    take(1);
    for (let inClass = false; at < text.length && (inClass || text[at] !== '/'); ) {
      if (text[at] === '[') inClass = true;
      if (text[at] === ']') inClass = false;
      take(text[at] === '\\' ? 2 : 1);
    }
    take(1);
  };
  const statements = (end: string | null): void => {
    for (let depth = 0; at < text.length; ) {
      const character = text[at]!;
      if (text.startsWith('//', at)) at = endOf('\n');
      else if (text.startsWith('/*', at)) at = endOf('*/') + 2;
      else if (character === "'" || character === '"' || character === '`') quoted(character);
      else if (character === '/' && /(^|[=(,:[!&|?{};+]|=>|return)\s*$/.test(code.slice(-20)))
        regularExpression();
      else {
        if (character === '{') depth += 1;
        if (character === '}') depth -= 1;
        take(1);
        if (end === character && depth < 0) return;
      }
    }
  };
  const endOf = (mark: string): number => {
    const found = text.indexOf(mark, at);
    return found < 0 ? text.length : found;
  };

  statements(null);
  return { code, strings };
}
