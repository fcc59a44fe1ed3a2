// A worker process for the pipelines of three-phases.mjs. The only argument is a JSON text.
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { RowmillWorker } from '../../dist/worker/worker.js';
import { loadPipelines } from '../../dist/pipeline/load-pipelines.js';

const { databaseUrl, pipeline, settings } = JSON.parse(process.argv[2]);
const say = (event, detail = {}) => writeSync(1, `${JSON.stringify({ event, ...detail })}\n`);

// Like `rowmill worker`: threads load the module themselves.
const loaded = await loadPipelines([fileURLToPath(new URL('three-phases.mjs', import.meta.url))]);
const worker = new RowmillWorker({
  databaseUrl,
  pipelines: loaded.filter(({ name }) => name === pipeline),
  settings,
});
process.once('SIGTERM', () => void worker.stop().then(() => say('stopped')));
say('worker', { workerId: worker.workerId });
await worker.start();
say('ready');
