// `node --import rowmill/register --test pipeline.test.ts` loads TypeScript modules on every supported Node, in the
// same way as the worker loads pipelines.
import 'jiti/register';
