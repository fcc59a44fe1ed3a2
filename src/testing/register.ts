// `node --import rowmill/register --test pipeline.test.ts`: TypeScript modules on every supported Node, loaded as the
// worker loads pipelines.
import 'jiti/register';
