// One worker process. Start as many as you like, on as many machines as you like: they share only the database and the
// blob store, which come from the environment like all settings. `rowmill worker pipeline.ts` does the same and
// replaces dead processes.
import { openRowmill } from 'rowmill';
import { transactions } from './pipeline.ts';

const rowmill = await openRowmill({ databaseUrl: process.env.DATABASE_URL! });
const worker = await rowmill.startWorker([transactions]);
process.once('SIGTERM', () => void worker.stop().then(() => rowmill.close()));
console.log(JSON.stringify({ event: 'ready' }));
