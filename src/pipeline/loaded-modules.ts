// The project's modules that jiti has loaded in this process, for `rowmill dev`, which watches and reloads them.
// Installed packages and Rowmill itself stay loaded.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** jiti registers modules here, also those that failed to load. */
const { cache } = createRequire(import.meta.url);
const OWN_FOLDER = fileURLToPath(new URL('..', import.meta.url));
const INSTALLED = /[\\/]node_modules[\\/]/;

export function loadedModules(): string[] {
  return Object.keys(cache).filter((file) => !INSTALLED.test(file) && !file.startsWith(OWN_FOLDER));
}

/** The next import reads the files again. Code that is in use keeps the modules it has. */
export function forgetModules(): void {
  for (const file of loadedModules()) delete cache[file];
}
