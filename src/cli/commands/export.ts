// rowmill export <job> --out <file>: the results of a job as a file, at any time.
import { openRowmill } from '../../open-rowmill.ts';
import { findJob } from '../find-job.ts';
import { openServer, type ServerOptions } from '../open-server.ts';
import { writeResults } from './run.ts';

export async function exportResults(
  prefix: string,
  options: ServerOptions & { out: string },
): Promise<number> {
  const server = await openServer(options, () => {});
  const rowmill = await openRowmill({ databaseUrl: server.url });
  try {
    const job = await findJob(rowmill, prefix);
    const count = await writeResults(options.out, rowmill, job.jobId);
    console.log(`${count} rows written to ${options.out}`);
    return 0;
  } finally {
    await rowmill.close();
    await server.stop();
  }
}
