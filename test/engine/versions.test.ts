// Workers with different versions of a pipeline: each job runs with the version it was created with, and a job that no
// worker can run waits with a reason.
import { expect, test } from 'vitest';
import { definePipeline, openRowmill, type Pipeline, type Rowmill } from '../../src/index.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();

const version = (name: string, text: string | null, phases = ['look']): Pipeline =>
  definePipeline({
    name,
    ...(text !== null && { version: text }),
    phases: phases.map((phase) => ({ name: phase, run: () => ({ by: text ?? 'none' }) })),
  });

async function withRowmill(work: (rowmill: Rowmill) => Promise<void>): Promise<void> {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: { pollMaxMs: 50 } });
  try {
    await work(rowmill);
  } finally {
    await rowmill.close();
  }
}

const rows = Array.from({ length: 20 }, (_, n) => ({ n }));

async function makersOf(rowmill: Rowmill, jobId: string): Promise<unknown[]> {
  await whenFinished(rowmill, jobId);
  const makers = new Set<unknown>();
  for await (const { result } of rowmill.results(jobId)) makers.add((result as { by: unknown }).by);
  return [...makers];
}

test('jobs of two versions run concurrently, each with its own version, in one worker and in two', async () => {
  await withRowmill(async (rowmill) => {
    const [one, two] = [version('priced', '1'), version('priced', '2')];
    const jobs = await Promise.all([one, two, one, two].map((pipeline) => rowmill.submit(pipeline, rows)));
    const workers = [await rowmill.startWorker([one, two]), await rowmill.startWorker([two])];
    const makers = await Promise.all(jobs.map((jobId) => makersOf(rowmill, jobId)));
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(makers).toEqual([['1'], ['2'], ['1'], ['2']]);
  });
});

test('a job that no worker can run is blocked with the reason, not failed, and runs when a suitable worker starts', async () => {
  await withRowmill(async (rowmill) => {
    const old = version('waiting', '1');
    const jobId = await rowmill.submit(old, rows);
    const reason = async () => rowmill.blockedBecause(await rowmill.job(jobId));
    expect(await reason()).toBe('no worker is running');

    const other = await rowmill.startWorker([version('other', null)]);
    expect(await reason()).toBe('no worker has the pipeline waiting');
    const newer = await rowmill.startWorker([version('waiting', '2')]);
    expect(await reason()).toBe('no worker has version 1 of the pipeline waiting; they have 2');
    const renamed = await rowmill.startWorker([version('waiting', '1', ['look', 'and see'])]);
    expect(await reason()).toContain('the phases of the pipeline waiting changed');
    // A separate job that shows when these workers have searched the queue.
    await makersOf(rowmill, await rowmill.submit(version('waiting', '2'), rows));
    expect(await rowmill.progress(jobId)).toMatchObject({ counts: { PENDING: 20, ERROR: 0 } });

    const right = await rowmill.startWorker([old]);
    expect(await makersOf(rowmill, jobId)).toEqual(['1']);
    expect(await reason()).toBeNull();
    await Promise.all([other, newer, renamed, right].map((worker) => worker.stop()));
  });
});

test('a job without a version runs with any version', async () => {
  await withRowmill(async (rowmill) => {
    const jobId = await rowmill.submit(version('any', null), rows);
    const worker = await rowmill.startWorker([version('any', '3')]);
    expect(await makersOf(rowmill, jobId)).toEqual(['3']);
    await worker.stop();
  });
});

test('one worker cannot have the same version twice', async () => {
  await withRowmill(async (rowmill) => {
    await expect(rowmill.startWorker([version('twice', '1'), version('twice', '1')])).rejects.toThrow(
      /are named twice version 1/,
    );
  });
});
