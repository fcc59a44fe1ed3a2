-- One row per job. Changed by ingest batches and control actions only, never per flush:
-- totals come from the ledger.
create type job_state as enum (
  'INGESTING', 'QUEUED', 'RUNNING', 'PAUSED', 'FINALIZING', 'DONE', 'FAILED', 'CANCELLED'
);

create table jobs (
  job_id              uuid primary key,
  owner_id            text not null,
  pipeline            text not null,
  phases              text[] not null check (cardinality(phases) > 0),
  name                text not null default '',
  params              jsonb not null default '{}',
  state               job_state not null default 'INGESTING',
  priority            smallint not null default 0,
  generation          int not null default 1,
  -- Items stored so far, and so the next seq. `sealed_at` says that this is all of them.
  item_count          bigint not null default 0,
  -- The ingest batch that committed last: a batch whose COMMIT reply was lost finds itself here.
  ingest_batch        uuid,
  ingest_checkpoint   jsonb,
  finalize_owner      uuid,
  finalize_token      uuid,
  finalize_expires_at timestamptz,
  finalize_attempts   int not null default 0,
  last_error          text,
  created_at          timestamptz not null default now(),
  sealed_at           timestamptz,
  started_at          timestamptz,
  finalizing_at       timestamptz,
  finished_at         timestamptz
);

-- The scheduler and the sweep look only at jobs that can still move.
create index jobs_open on jobs (pipeline, created_at)
  where state in ('INGESTING', 'QUEUED', 'RUNNING', 'FINALIZING');
create index jobs_by_owner on jobs (owner_id, created_at desc, job_id);
