// One worker process. Start as many as you like, on as many machines: all they share is the database and the blob store,
// which like all settings come from the environment. `rowmill worker pipeline.ts` does the same and replaces dead ones.
import { RowmillWorker } from 'rowmill';
import { transactions } from './pipeline.ts';

const worker = new RowmillWorker({ databaseUrl: process.env.DATABASE_URL!, pipelines: [transactions] });
process.once('SIGTERM', () => void worker.stop());
await worker.start();
console.log(JSON.stringify({ event: 'ready' }));
