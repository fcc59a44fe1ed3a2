-- One appended row per flush: how many of what. The sum over a job is the current truth, so totals,
-- charts and audits read this table and never count items. Older rows are folded into minutes.
create table ledger (
  job_id     uuid not null,
  -- The flush's own id, made by the worker: a flush whose COMMIT reply was lost finds itself here.
  entry_id   uuid not null,
  generation int not null,
  phase      smallint not null,
  at         timestamptz not null default now(),
  worker_id  uuid,
  flushes    bigint not null default 1,
  done       bigint not null default 0,
  error      bigint not null default 0,
  not_found  bigint not null default 0,
  skipped    bigint not null default 0,
  cancelled  bigint not null default 0,
  -- Went on to the next phase, came back for another attempt, arrived after the lease was lost.
  advanced   bigint not null default 0,
  retried    bigint not null default 0,
  fenced     bigint not null default 0,
  bytes      bigint not null default 0,
  handler_ms double precision not null default 0,
  primary key (job_id, entry_id)
);
create index ledger_by_time on ledger (job_id, at);
