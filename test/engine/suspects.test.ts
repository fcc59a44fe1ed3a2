// Items that were running when a process died run again as suspects, in slots of their own: other work continues
// beside them. Only the last attempt of an item gets a process for itself, and slowBecause names it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EXPIRED_ONCE } from '../../src/core/retries/crash-policy.ts';
import { flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import { rescueLeases } from '../../src/engine/flush/rescue-leases.ts';
import {
  definePipeline,
  openRowmill,
  type Pipeline,
  type Rowmill,
  type RowmillWorker,
} from '../../src/index.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { doneOutcome } from '../simulation/seed-job.ts';
import { claimRequest, jobWithItems, replaceSpans, type SpanShape } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { makeTurnstile } from '../support/turnstile.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
let worker: RowmillWorker | null = null;

beforeEach(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterEach(async () => {
  await worker?.stop({ drainMs: 0 });
  worker = null;
  await rowmill.close();
});

/** A pipeline whose calls wait until the test lets them pass. */
class Gated {
  readonly gate = makeTurnstile();
  readonly pipeline: Pipeline;
  running = 0;
  most = 0;

  constructor(onCall: () => void = () => {}) {
    const run = async (_: unknown, { signal }: { signal: AbortSignal }): Promise<object> => {
      onCall();
      this.running += 1;
      this.most = Math.max(this.most, this.running);
      await this.gate.pass(signal).finally(() => {
        this.running -= 1;
      });
      return {};
    };
    const name = `suspects-${newId().slice(0, 8)}`;
    this.pipeline = definePipeline({ name, outputs: [], phases: [{ name: 'only', run }] });
  }

  async submit(items: number, spans?: SpanShape[]): Promise<string> {
    const rows = Array.from({ length: items }, (_, n) => ({ n }));
    const jobId = await rowmill.submit(this.pipeline, rows);
    if (spans) await replaceSpans(database, jobId, spans);
    return jobId;
  }
}

const slowBecause = async (jobId: string): Promise<string | null> =>
  rowmill.slowBecause((await rowmill.job(jobId))!);
const patience = { timeout: 60_000, interval: 20 };

test('another job runs to its end while suspects run, one span of them at a time', async () => {
  const suspected = new Gated();
  const other = new Gated();
  other.gate.admit(1000);
  const spans = ['{[0,2)}', '{[2,4)}', '{[4,6)}'].map((items) => ({ items, crashes: 1 }));
  const suspectedId = await suspected.submit(6, spans);
  worker = await rowmill.startWorker([suspected.pipeline, other.pipeline]);
  await expect.poll(() => suspected.running, patience).toBe(2);
  await whenFinished(rowmill, await other.submit(100));
  expect(suspected.running, 'the suspects are still running').toBe(2);
  expect(await slowBecause(suspectedId)).toBe(
    'rows are waiting although slots are free: 4 rows were on a worker that crashed, and a worker runs one group of such rows at a time',
  );
  suspected.gate.admit(6);
  await whenFinished(rowmill, suspectedId);
  expect(suspected.most).toBe(2);
});

test('an item that one more crash would fail runs alone, and slowBecause names it', async () => {
  const other = new Gated();
  const beside: number[] = [];
  const suspected = new Gated(() => beside.push(other.running));
  const suspectedId = await suspected.submit(1, [{ items: '{[0,1)}', crashes: 2, readyInMs: 3_600_000 }]);
  const otherId = await other.submit(3);
  worker = await rowmill.startWorker([suspected.pipeline, other.pipeline]);
  await expect.poll(() => other.running, patience).toBe(3);
  await database.query('update spans set ready_at = now() where job_id = $1', [suspectedId]);
  await expect.poll(() => slowBecause(otherId), patience).toContain('one row alone');
  expect(beside).toEqual([]);
  other.gate.admit(1000);
  await expect.poll(() => suspected.running, patience).toBe(1);
  const laterId = await other.submit(3);
  expect(await slowBecause(laterId)).toContain('one row alone');
  suspected.gate.admit(1);
  await whenFinished(rowmill, suspectedId);
  await whenFinished(rowmill, laterId);
  expect(beside).toEqual([0]);
  const shares = (): Promise<{ share: string }[]> =>
    database.query(`select pressure ->> 'share' as share from workers`);
  await expect.poll(shares, patience).not.toContainEqual({ share: '0' });
});

test('a call that answered is no longer a suspect', async () => {
  const context = database.context();
  const jobId = await jobWithItems(context, { items: 2 });
  await replaceSpans(database, jobId, [{ items: '{[0,2)}', crashes: 1 }]);
  const claim = (await claimItems(context.db, claimRequest(jobId, { suspects: true, alone: false })))!;
  const failure = { class: 'overloaded', message: 'busy', retryAfterMs: null } as const;
  const outcomes = [{ ...doneOutcome(0), kind: 'retry', status: 'ERROR', json: null, failure } as const];
  const batch = { jobId, generation: 1, phase: 0, workerId: newId(), flushId: newId() };
  await flushOutcomes(context, { ...batch, leases: [{ ...claim, outcomes }] }, false);
  expect(await waitingSpans(jobId)).toEqual([{ items: '{[0,1)}', crashes: 0 }]);
  await rescueLeases(context, { deadWorkerId: await holderOf(jobId) });
  expect(await waitingSpans(jobId)).toEqual([
    { items: '{[0,1)}', crashes: 0 },
    { items: '{[1,2)}', crashes: 2 },
  ]);
});

test('a lease that expires once makes no suspects; one whose process was seen to end does', async () => {
  const context = database.context();
  const jobId = await jobWithItems(context, { items: 4 });
  const lose = async (isSeen: boolean): Promise<void> => {
    expect(await claimItems(context.db, claimRequest(jobId))).not.toBeNull();
    const deadWorkerId = await holderOf(jobId);
    await database.query('update spans set expires_at = now() where job_id = $1 and worker_id is not null', [
      jobId,
    ]);
    await rescueLeases(context, isSeen ? { deadWorkerId } : { expiredOfJobId: jobId });
  };
  await lose(false);
  expect(await waitingSpans(jobId)).toEqual([{ items: '{[0,4)}', crashes: EXPIRED_ONCE }]);
  await lose(false);
  const halves = [
    { items: '{[0,2)}', crashes: 1 },
    { items: '{[2,4)}', crashes: 1 },
  ];
  expect(await waitingSpans(jobId)).toEqual(halves);
  await replaceSpans(database, jobId, [{ items: '{[0,4)}' }]);
  await lose(true);
  expect(await waitingSpans(jobId)).toEqual(halves);
});

test('the parts of a lease whose process ended stay in its phase', async () => {
  const context = database.context();
  const jobId = await jobWithItems(context, { items: 4, phases: ['first', 'second'] });
  await replaceSpans(database, jobId, [{ items: '{[0,4)}', phase: 1 }]);
  expect(await claimItems(context.db, claimRequest(jobId, { phase: 1 }))).not.toBeNull();
  await rescueLeases(context, { deadWorkerId: await holderOf(jobId) });
  expect(
    await database.query('select items::text, phase from spans where job_id = $1 order by lower(items)', [
      jobId,
    ]),
  ).toEqual([
    { items: '{[0,2)}', phase: 1 },
    { items: '{[2,4)}', phase: 1 },
  ]);
});

async function holderOf(jobId: string): Promise<string> {
  const [lease] = await database.query<{ worker_id: string }>(
    'select worker_id from spans where job_id = $1 and worker_id is not null',
    [jobId],
  );
  return lease!.worker_id;
}

const waitingSpans = (jobId: string): Promise<{ items: string; crashes: number }[]> =>
  database.query(
    'select items::text, crashes from spans where job_id = $1 and worker_id is null order by lower(items)',
    [jobId],
  );
