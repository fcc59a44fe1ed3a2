// Hooks for modules that Node loads itself, in the thread of the loader: reports the project's modules to
// loaded-modules.ts and gives each reload addresses of its own, because Node never loads an address twice.
import type { InitializeHook, ResolveHook } from 'node:module';
import type { MessagePort } from 'node:worker_threads';

export interface NativeModuleData {
  port: MessagePort;
  /** Number of reloads. */
  reloads: Int32Array;
  /** Address of Rowmill's own modules, which stay loaded. */
  own: string;
}

let data: NativeModuleData;

export const initialize: InitializeHook<NativeModuleData> = (given) => {
  data = given;
};

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const found = await nextResolve(specifier, context);
  const { url } = found;
  if (!url.startsWith('file:') || url.includes('/node_modules/') || url.startsWith(data.own)) return found;
  data.port.postMessage(url);
  const reloads = Atomics.load(data.reloads, 0);
  return reloads === 0 ? found : { ...found, url: `${url}?reload=${reloads}` };
};
