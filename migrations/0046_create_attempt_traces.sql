-- Details of an attempt that no other table has: worker, start, log lines and the thrown error. A row exists for attempts
-- that logged, failed, or followed a failure, so a pipeline that logs nothing writes none for rows that succeed at once.
-- Error, cost and result of the attempt are in attempt_errors, stage_outputs and results. Written by the flush, never updated.
create table attempt_traces (
  job_id         uuid not null,
  seq            bigint not null,
  generation     int not null,
  phase          smallint not null,
  attempt        smallint not null,
  outcome        text not null,
  worker_id      uuid not null,
  started_at     timestamptz not null,
  duration_ms    real not null,
  -- Delay before the next attempt; null if none follows.
  retry_after_ms double precision,
  strategy       text,
  -- JSON: name, stack and causes of the error that the handler threw.
  thrown         text,
  -- JSON: log lines in their order.
  log            text,
  -- Log lines over the limits of an attempt.
  dropped_lines  int not null default 0,
  primary key (job_id, seq, generation, phase, attempt)
);
