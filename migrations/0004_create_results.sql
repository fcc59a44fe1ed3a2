-- The terminal outcome of an item: at most one per item and generation, never updated.
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
  primary key (job_id, seq, generation)
);

-- Triage and filters look for what went wrong; DONE rows are read in key order and need no entry here.
create index results_not_done on results (job_id, generation, status, seq) where status <> 'DONE';

-- What a phase produced for an item that went on to the next phase: the point a crash falls back to.
create table stage_outputs (
  job_id     uuid not null,
  seq        bigint not null,
  generation int not null,
  phase      smallint not null,
  -- Size as text: the next claim is bounded in bytes by this too.
  output_bytes int not null,
  output     jsonb,
  primary key (job_id, seq, generation, phase)
);

-- Failed attempts that were retried: the history of an item.
create table attempt_errors (
  job_id      uuid not null,
  seq         bigint not null,
  generation  int not null,
  phase       smallint not null,
  attempt     smallint not null,
  error_class text not null,
  error       text not null,
  failed_at   timestamptz not null default now()
);
create index attempt_errors_by_item on attempt_errors (job_id, seq);

-- Errors by normalised signature, fed by the flush: triage without scanning results.
create table error_groups (
  job_id      uuid not null,
  generation  int not null,
  phase       smallint not null,
  signature   text not null,
  error_class text not null,
  sample      text not null,
  sample_seq  bigint not null,
  occurrences bigint not null,
  first_seen  timestamptz not null default now(),
  last_seen   timestamptz not null default now(),
  primary key (job_id, generation, phase, signature)
) with (fillfactor = 70);
