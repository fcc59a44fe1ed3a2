// A crash of PostgreSQL undoes a claim that was not yet on disk: claims do not wait for it
// (docs/decisions/claim-commit.md).
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import { contextOf, openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { findPostmaster } from '../../src/platform/embedded-postgres/server-processes.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { newId } from '../../src/platform/random.ts';
import { openConnections } from '../../src/worker/process/worker-connections.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { plainOutcome } from '../simulation/seed-job.ts';
import { claimRequest } from '../support/job-factory.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { whenFinished } from '../support/when-finished.ts';
import { checkFinishedJob } from './check-finished-job.ts';

const ITEMS = 10;
const log = new EventEmitter();
let folder: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowmill-lost-claim-'));
  server = await startEmbeddedPostgres({ dataDir: folder, onLog: (line) => log.emit(line) });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Freezes the process that writes asynchronous commits to disk within a fraction of a second. */
async function freezeWalWriter(): Promise<number> {
  const [writer] = await query<{ pid: number }>(
    `select pid from pg_stat_activity where backend_type = 'walwriter'`,
  );
  process.kill(writer!.pid, 'SIGSTOP');
  return writer!.pid;
}

async function crashServer(walWriter: number): Promise<void> {
  const isBack = once(log, `PostgreSQL is ready again on 127.0.0.1:${new URL(server.url).port}`);
  const { identity } = (await findPostmaster(join(folder, 'pgdata')))!;
  process.kill(identity.pid, 'SIGKILL');
  process.kill(walWriter, 'SIGKILL');
  await isBack;
}

// Windows cannot freeze a process.
test.skipIf(process.platform === 'win32')(
  'the rows of an undone claim wait again, its results are refused, and each row has one result',
  async () => {
    const pipeline = definePipeline({
      name: 'lost-claim',
      phases: [{ name: 'only', run: () => ({ ok: true }) }],
    });
    const rowmill = await openRowmill({ databaseUrl: server.url });
    const jobId = await rowmill.submit(
      pipeline,
      Array.from({ length: ITEMS }, (_, n) => ({ n })),
    );
    const { db, ...context } = contextOf(rowmill);
    const connections = openConnections(server.url, context, silentLogger, contextOf(rowmill));
    const holders = () => query('select worker_id from spans where job_id = $1', [jobId]);

    const walWriter = await freezeWalWriter();
    const claim = (await claimItems(connections.claims.db, claimRequest(jobId)))!;
    expect(await holders()).toEqual([{ worker_id: expect.any(String) }]);
    await crashServer(walWriter);
    expect(await holders(), 'void: the claim was on disk').toEqual([{ worker_id: null }]);

    const { generation, phase } = claim;
    const leases = [{ ...claim, outcomes: claim.items.map(({ seq }) => plainOutcome(seq)) }];
    const batch = { jobId, generation, phase, workerId: newId(), flushId: newId(), leases };
    const late = await flushOutcomes(connections.flushes, batch, false);
    expect(late).toMatchObject({ recorded: 0, fenced: ITEMS, lostTokens: [claim.token] });

    const worker = await rowmill.startWorker([pipeline]);
    await whenFinished(rowmill, jobId);
    await checkFinishedJob({ query }, jobId, { counts: { DONE: ITEMS } });
    await worker.stop();
    await connections.claims.db.close();
    await connections.flushes.db.close();
    await rowmill.close();
  },
);
