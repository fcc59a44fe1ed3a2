// Inserts one job with given spans by plain SQL: the initial state of an interleaving.
import type pg from 'pg';
import { countSeqs, formatRanges, type SeqRanges } from '../../src/core/items/seq-ranges.ts';
import type { LeaseOutcomes, RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import { newId } from '../../src/platform/random.ts';

export interface SeededSpan {
  phase?: number;
  items: SeqRanges;
  attempt?: number;
  crashes?: number;
  /** Leased by a worker; without it the span waits. */
  lease?: { workerId?: string; expired?: boolean };
}

export interface SeededLease {
  spanId: number;
  token: string;
  workerId: string;
  phase: number;
  attempt: number;
  crashes: number;
  items: SeqRanges;
}

export interface SeededJob {
  jobId: string;
  /** The leased spans, in the given order. */
  leases: SeededLease[];
}

/** Removes all jobs of earlier interleavings first, because rescue and sweep read all jobs. */
export async function seedJob(
  admin: pg.Client,
  job: { items: number; sealed: boolean; spans: SeededSpan[]; state?: string },
): Promise<SeededJob> {
  const jobId = newId();
  await admin.query('delete from spans; delete from jobs');
  await admin.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, item_count, sealed_at, started_at)
     values ($1, 'test', 'simulated', '{first,second}', $2, $3, case when $4 then now() end, now())`,
    [jobId, job.state ?? (job.sealed ? 'RUNNING' : 'INGESTING'), job.items, job.sealed],
  );
  await admin.query(
    `insert into items (job_id, seq, input_bytes, input)
     select $1, n, 2, '{}' from generate_series(0, $2::bigint - 1) n`,
    [jobId, job.items],
  );
  const leases: SeededLease[] = [];
  for (const { phase = 0, items, attempt = 0, crashes = 0, lease } of job.spans) {
    const workerId = lease?.workerId ?? newId();
    const token = newId();
    const { rows } = await admin.query<{ span_id: string }>(
      `insert into spans (job_id, generation, phase, items, item_count, attempt, crashes, worker_id, token, expires_at)
       values ($1, 1, $2, $3, $4, $5, $6, $7, $8, now() + $9::interval) returning span_id`,
      [
        jobId,
        phase,
        formatRanges(items),
        countSeqs(items),
        attempt,
        crashes,
        lease ? workerId : null,
        lease ? token : null,
        lease ? (lease.expired ? '-1 second' : '1 hour') : null,
      ],
    );
    if (lease)
      leases.push({ spanId: Number(rows[0]!.span_id), token, workerId, phase, attempt, crashes, items });
  }
  // Items that wait at the second phase have an output of the first one, and items without a span are done.
  await admin.query(
    `with placed as (
       select n as seq, s.phase from spans s, unnest(s.items) r, generate_series(lower(r), upper(r) - 1) n
       where s.job_id = $1
     ), passed as (
       insert into stage_outputs (job_id, seq, generation, phase, output_bytes, output)
       select $1, seq, 1, 0, 2, '{}' from placed where phase = 1 returning 1
     ), ended as (
       insert into result_rows (job_id, seq, generation, phase, attempt, status)
       select $1, i.seq, 1, 0, 1, 'DONE' from items i
       where i.job_id = $1 and not exists (select from placed p where p.seq = i.seq) returning 1
     )
     insert into ledger (job_id, entry_id, generation, phase, advanced, done)
     select $1, gen_random_uuid(), 1, 0, (select count(*) from passed), (select count(*) from ended)`,
    [jobId],
  );
  return { jobId, leases };
}

/** The part of a flush for one lease: these seqs, all done. */
export function doneOutcomes(lease: SeededLease, seqs: number[]): LeaseOutcomes {
  const { spanId, token, attempt } = lease;
  return { spanId, token, attempt, failures: '', priority: 0, outcomes: seqs.map(doneOutcome) };
}

/** With a new result column, so that its flush is a transaction of several statements. */
export function doneOutcome(seq: number): RecordedOutcome {
  return { ...plainOutcome(seq), columns: ['seq'] };
}

/** A flush with nothing else is one statement. */
export function plainOutcome(seq: number): RecordedOutcome {
  return {
    seq,
    kind: 'terminal',
    status: 'DONE',
    json: `{"seq":${seq}}`,
    failure: null,
    delayMs: 0,
    handlerMs: 1,
  };
}
