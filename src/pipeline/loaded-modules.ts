// The project's modules that this process has loaded, for `rowmill dev`, which watches and reloads them. jiti loads
// TypeScript; Node itself loads JavaScript. Installed packages and Rowmill itself stay loaded.
import { createRequire, register } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { compiledFile } from '../platform/compiled-file.ts';
import type { NativeModuleData } from './native-module-hooks.ts';

/** jiti registers modules here, also those that failed to load. */
const { cache } = createRequire(import.meta.url);
const OWN = new URL('..', import.meta.url);
const INSTALLED = /[\\/]node_modules[\\/]/;

export class LoadedModules {
  readonly #channel = new MessageChannel();
  readonly #reloads = new Int32Array(new SharedArrayBuffer(4));
  readonly #native = new Set<string>();

  /** Call it before the first module is loaded, and once per process. */
  constructor() {
    const { port1, port2 } = this.#channel;
    port1.unref();
    const data: NativeModuleData = { port: port2, reloads: this.#reloads, own: OWN.href };
    register(pathToFileURL(compiledFile(import.meta.url, 'native-module-hooks.js')), {
      data,
      transferList: [port2],
    });
  }

  /** Paths of files. */
  files(): string[] {
    for (let next = this.#receive(); next !== undefined; next = this.#receive())
      this.#native.add(fileURLToPath(next));
    return [...new Set([...this.#required(), ...this.#native])];
  }

  /** The next import reads the files again. Code that is in use keeps the modules it has. */
  forget(): void {
    this.files();
    this.#native.clear();
    for (const file of this.#required()) delete cache[file];
    Atomics.add(this.#reloads, 0, 1);
  }

  #required(): string[] {
    const own = fileURLToPath(OWN);
    return Object.keys(cache).filter((file) => !INSTALLED.test(file) && !file.startsWith(own));
  }

  #receive(): string | undefined {
    return receiveMessageOnPort(this.#channel.port1)?.message as string | undefined;
  }
}
