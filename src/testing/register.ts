// `node --import rowmill/register --test pipeline.test.ts` loads TypeScript modules on every supported Node, in the
// same way as the worker loads pipelines.
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import { compiledFile } from '../platform/compiled-file.ts';

register(pathToFileURL(compiledFile(import.meta.url, 'typescript-hooks.js')), {
  data: { jiti: import.meta.resolve('jiti') },
});
