// Threads and child processes need a compiled file even when the caller runs from source, as tests do.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The compiled file `name` beside the module at `moduleUrl`. */
export function compiledFile(moduleUrl: string, name: string): string {
  const beside = fileURLToPath(new URL(name, moduleUrl));
  if (existsSync(beside)) return beside;
  const at = Math.max(beside.lastIndexOf('/src/'), beside.lastIndexOf('\\src\\'));
  const compiled = at < 0 ? beside : `${beside.slice(0, at + 1)}dist${beside.slice(at + 4)}`;
  if (!existsSync(compiled)) throw new Error(`expected ${compiled} to exist: run \`npm run build\` first`);
  return compiled;
}
