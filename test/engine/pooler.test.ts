// Everything works through PgBouncer in transaction mode, where a session lasts for one transaction. These tests need
// an installed PgBouncer; the detection of a pooler and its effects are tested on any machine.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { retryLater } from '../../src/core/items/outcome.ts';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { Database } from '../../src/platform/database.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { checkFinishedJob } from '../chaos/check-finished-job.ts';
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../support/pgbouncer.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
const SHOW = {
  name: 'show-session',
  text: `select current_setting('statement_timeout') as timeout, current_setting('plan_cache_mode') as mode,
         (select count(*)::int from pg_prepared_statements) as prepared`,
};

describe.skipIf(!hasPgbouncer())('through PgBouncer', () => {
  let pgbouncer: Pgbouncer;
  let url: string;
  let folder: string;
  beforeAll(async () => {
    pgbouncer = await startPgbouncer();
    url = pgbouncer.through(database.directUrl);
    folder = mkdtempSync(join(tmpdir(), 'rowmill-pooler-'));
  });
  afterAll(async () => {
    await pgbouncer.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('statements have no names, and session parameters still apply', async () => {
    const db = new Database({ url, maxConnections: 5, applicationName: 'test', deadlineMs: 20_000 });
    try {
      const expected = { timeout: '21s', mode: 'force_generic_plan', prepared: 0 };
      const shown = await Promise.all(Array.from({ length: 20 }, () => db.run(SHOW)));
      expect(shown.flatMap(({ rows }) => rows)).toEqual(Array.from({ length: 20 }, () => expected));
      expect(await db.transaction(async (tx) => (await tx.run(SHOW)).rows)).toEqual([expected]);
    } finally {
      await db.close();
    }
  });

  const pipeline = definePipeline({
    name: 'pooled',
    phases: [
      {
        name: 'first',
        concurrency: 20,
        run: async (row, { attempt, emit }) => {
          const n = Number(row.n);
          if (n % 10 === 3 && attempt === 1) return retryLater({ afterMs: 10, reason: 'not the first time' });
          if (n === 5) emit('child', { n: 1000 });
          return { n };
        },
      },
      { name: 'second', concurrency: 20, run: async (row) => ({ doubled: 2 * (row.n as number) }) },
    ],
  });

  async function twoWorkers(work: (rowmill: Rowmill) => Promise<void>): Promise<void> {
    const rowmill = await openRowmill({ databaseUrl: url });
    const workers = [await rowmill.startWorker([pipeline]), await rowmill.startWorker([pipeline])];
    try {
      await work(rowmill);
    } finally {
      await Promise.all(workers.map((worker) => worker.stop()));
      await rowmill.close();
    }
  }

  test('a file is read, run by two workers, reprocessed and exported', async () => {
    const file = join(folder, 'rows.csv');
    const rows = Array.from({ length: 2000 }, (_, n) => n);
    writeFileSync(file, `n\n${rows.join('\n')}\n`);
    await twoWorkers(async (rowmill) => {
      const { jobId } = await rowmill.submitFile(pipeline, file);
      await whenFinished(rowmill, jobId);
      await checkFinishedJob(database, jobId, { counts: { DONE: 2001 } });
      await rowmill.reprocess(jobId, { statuses: ['DONE'] });
      await whenFinished(rowmill, jobId);
      const chunks: Buffer[] = [];
      for await (const chunk of rowmill.export(jobId, { format: 'csv' })) chunks.push(chunk);
      expect(Buffer.concat(chunks).toString().trim().split('\n')).toHaveLength(2002);
    });
  });

  test('the server answers', async () => {
    const { url: address } = await startTestApi(url);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await fetch(`${address}/api/jobs`)).status),
    );
    expect(new Set(answers)).toEqual(new Set([200]));
    expect((await fetch(`${address}/readyz`)).status).toBe(200);
  });
});

test('without a pooler statements have names', async () => {
  const db = new Database({
    url: database.directUrl,
    maxConnections: 1,
    applicationName: 'test',
    deadlineMs: 20_000,
  });
  await db.run(SHOW);
  expect((await db.run(SHOW)).rows).toEqual([{ timeout: '21s', mode: 'force_generic_plan', prepared: 1 }]);
  await db.close();
});
