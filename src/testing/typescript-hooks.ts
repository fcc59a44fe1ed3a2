// Hooks for the thread of Node's loader: jiti loads a TypeScript module of the project, in the main thread, with all
// that it imports. Node loads everything else itself. The hooks of jiti/register look at every module, which took most
// of the time of a short test.
import type { InitializeHook, LoadHook } from 'node:module';

const TYPESCRIPT = /\.[cm]?tsx?$/;
let source: string;

export const initialize: InitializeHook<{ jiti: string }> = ({ jiti }) => {
  source = `import { fileURLToPath } from 'node:url';
import { createJiti } from ${JSON.stringify(jiti)};
export default await createJiti(import.meta.url).import(fileURLToPath(import.meta.url));`;
};

export const load: LoadHook = async (url, context, nextLoad) => {
  const { pathname, protocol } = new URL(url);
  if (protocol !== 'file:' || !TYPESCRIPT.test(pathname) || pathname.includes('/node_modules/'))
    return nextLoad(url, context);
  return { format: 'module', source, shortCircuit: true };
};
