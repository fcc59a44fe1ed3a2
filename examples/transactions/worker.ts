// One worker process. Start as many as you like, on as many machines as you like: they share only the database and the
// blob store, which come from the environment like all settings. `rowmill worker pipeline.ts` does the same and
// replaces dead processes.
import { RowmillWorker } from 'rowmill';
import { transactions } from './pipeline.ts';

const worker = new RowmillWorker({ databaseUrl: process.env.DATABASE_URL!, pipelines: [transactions] });
process.once('SIGTERM', () => void worker.stop());
await worker.start();
console.log(JSON.stringify({ event: 'ready' }));
