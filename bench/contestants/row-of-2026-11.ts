// The result row of November 2026, frozen: a yardstick that stays the same when Rowmill's own tables change.

export const CREATE_RESULTS = `
  create type item_status as enum ('DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED');
  create table results (
    job_id      uuid not null,
    seq         bigint not null,
    generation  int not null,
    phase       smallint not null,
    attempt     smallint not null,
    status      item_status not null,
    handler_ms  real,
    finished_at timestamptz not null default now(),
    error_class text,
    error       text,
    result      jsonb,
    signature   text,
    cost        double precision,
    primary key (job_id, seq, generation)
  );
  create index results_not_done on results (job_id, generation, status, seq) where status <> 'DONE';`;

export const COPY_RESULTS =
  'copy results (job_id, seq, generation, phase, attempt, status, handler_ms, error_class, error, result, signature) from stdin';

/** One row in COPY's text format. The result must need no escaping: no backslash, tab or newline. */
export function resultLine(jobId: string, seq: number, resultJson: string, handlerMs: number): string {
  return `${jobId}\t${seq}\t1\t0\t1\tDONE\t${handlerMs}\t\\N\t\\N\t${resultJson}\t\\N\n`;
}
