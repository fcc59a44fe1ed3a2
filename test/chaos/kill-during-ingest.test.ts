// Kills the process that reads a file at every fault point. Running the same command again finds the job and resumes
// it, and so does a worker that knows the pipeline.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import type { FaultPoint } from '../../src/platform/fault-point.ts';
import { newId } from '../../src/platform/random.ts';
import { killAll } from '../support/child-process.ts';
import { isDeep } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  FILE_INGEST_POINTS,
  startChaosFileIngest,
  startChaosWorker,
} from './chaos-worker.ts';
import { checkFinishedJob } from './check-finished-job.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-ingest-'));
afterEach(killAll);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ROWS = 200;
/** Every 50th row lacks a cell, and row 120 repeats a key. */
const LINES = Array.from({ length: ROWS }, (_, n) =>
  n % 50 === 13 ? `${n}` : n === 120 ? `7,again` : `${n},row ${n}`,
);
const ACCEPTED = Array.from({ length: ROWS }, (_, n) => n).filter((n) => n % 50 !== 13 && n !== 120);
const SETTINGS = { ...CHAOS_SETTINGS, ingestMinRows: 16, ingestMaxRows: 32, ingestLeaseMs: 300 };

const cases = FILE_INGEST_POINTS.flatMap((point) =>
  (point.endsWith('_commit') ? (isDeep ? [1, 2, 6] : [6]) : [1]).map((passage) => ({
    point: point as FaultPoint,
    passage,
  })),
);

test.each(cases)(
  'after a kill at $point, passage $passage, the rest of the file is read',
  async ({ point, passage }) => {
    database.keepIfFailed();
    const pipeline = `${point}-${passage}-${newId()}`;
    const file = join(folder, `${pipeline}.csv`);
    // The content is unique: the same bytes would be the same job.
    writeFileSync(file, `n,${pipeline}\n${LINES.join('\n')}\n`);
    const shared = { databaseUrl: database.url, pipeline, file, settings: SETTINGS };
    const victim = startChaosFileIngest({ ...shared, faultPoints: `${point}=kill@${passage}` });
    expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(
      victim.events.filter(({ event }) => event === 'fault'),
      'void',
    ).toMatchObject([{ name: point }]);

    const rowmill = await openRowmill({ databaseUrl: database.url, settings: SETTINGS });
    try {
      const before = await database.query<{ job_id: string }>('select job_id from jobs where pipeline = $1', [
        pipeline,
      ]);
      expect(before).toHaveLength(point === 'ingest.file_stored' ? 0 : 1);
      if (passage === 1 && point === 'ingest.file_stored') {
        const second = startChaosFileIngest(shared);
        expect(await second.exited, second.stderrTail).toEqual({ code: 0, signal: null });
      }
      // Any worker resumes when the lease of the dead reader has expired.
      startChaosWorker({ databaseUrl: database.url, pipeline, settings: SETTINGS });
      const [job] = await database.query<{ job_id: string }>('select job_id from jobs where pipeline = $1', [
        pipeline,
      ]);
      const jobId = job!.job_id;
      await whenFinished(rowmill, jobId);
      await checkFinishedJob(database, jobId, { counts: { DONE: ACCEPTED.length } });
      const items = await database.query<{ n: string }>(
        `select input ->> 'n' as n from items where job_id = $1 order by seq`,
        [jobId],
      );
      expect(items.map(({ n }) => Number(n))).toEqual(ACCEPTED);
      const rejected = await database.query(
        'select line::int from rejected_rows where job_id = $1 order by ordinal',
        [jobId],
      );
      expect(rejected).toEqual([{ line: 15 }, { line: 65 }, { line: 115 }, { line: 122 }, { line: 165 }]);
      const done = await rowmill.job(jobId);
      expect(done.ingestReport).toMatchObject({ read: ROWS, stored: ACCEPTED.length, rejected: 5 });
    } finally {
      await rowmill.close();
    }
  },
);
