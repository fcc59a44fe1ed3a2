import type { Executor, Statement } from '../../platform/database.ts';

// Rows are touched in signature order, after the lease rows: flushes that meet here wait, they do not deadlock.
const UPSERT_ERROR_GROUPS: Statement = {
  name: 'upsert-error-groups',
  text: `
    insert into error_groups as g (job_id, generation, phase, signature, error_class, sample, sample_seq, occurrences, failed)
    select $1, $2, $3, n.signature, n.error_class, n.sample, n.sample_seq, n.occurrences, n.failed
    from unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[])
      as n(signature, error_class, sample, sample_seq, occurrences, failed)
    order by n.signature
    on conflict (job_id, generation, phase, signature)
    do update set occurrences = g.occurrences + excluded.occurrences, failed = g.failed + excluded.failed, last_seen = now()`,
};

export interface ErrorGroupDelta {
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  /** Failed attempts, whether or not they were tried again. */
  occurrences: number;
  /** Items that ended with it. */
  failed: number;
}

/** Counts one more error of a signature. */
export function addToGroup(
  groups: Map<string, ErrorGroupDelta>,
  signature: string,
  failure: { class: string; message: string },
  seq: number,
  isFinal: boolean,
): void {
  const group = groups.get(signature);
  if (group) {
    group.occurrences += 1;
    if (isFinal) group.failed += 1;
  } else {
    groups.set(signature, {
      signature,
      errorClass: failure.class,
      sample: failure.message.slice(0, 1000).toWellFormed(),
      sampleSeq: seq,
      occurrences: 1,
      failed: isFinal ? 1 : 0,
    });
  }
}

export async function upsertErrorGroups(
  db: Executor,
  jobId: string,
  generation: number,
  phase: number,
  groups: ErrorGroupDelta[],
): Promise<void> {
  if (groups.length === 0) return;
  await db.run(UPSERT_ERROR_GROUPS, [
    jobId,
    generation,
    phase,
    groups.map((group) => group.signature),
    groups.map((group) => group.errorClass),
    groups.map((group) => group.sample),
    groups.map((group) => group.sampleSeq),
    groups.map((group) => group.occurrences),
    groups.map((group) => group.failed),
  ]);
}
