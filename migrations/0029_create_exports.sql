-- Exports that are prepared in the background. Leased, so that one process is at it and another takes over after a crash.
create table exports (
  export_id    uuid primary key,
  job_id       uuid not null,
  -- Of the job: so many of one owner are prepared at once.
  owner_id     text not null,
  -- Format, filter, columns and generation, as they were asked for.
  request      jsonb not null,
  name         text not null,
  content_type text not null,
  generation   int not null,
  state        text not null default 'PREPARING' check (state in ('PREPARING', 'READY', 'FAILED')),
  attempts     int not null default 0,
  token        uuid,
  lease_until  timestamptz,
  blob_key     text,
  bytes        bigint,
  sha256       text,
  row_count    bigint,
  error        text,
  created_at   timestamptz not null default now(),
  finished_at  timestamptz,
  expires_at   timestamptz,
  check ((token is null) = (lease_until is null))
);
create index exports_of_job on exports (job_id, created_at);
create index exports_preparing on exports (owner_id, created_at) where state = 'PREPARING';
create index exports_by_expiry on exports (expires_at) where expires_at is not null;

-- Jobs that somebody removed: their row is gone, and so they are, from this commit on; what else there is of them goes in
-- bounded steps, and any process goes on where one died. No job can be made under the id before that is done.
create table job_removals (
  job_id         uuid primary key,
  -- Of the file it came from; null: none.
  blob_key       text,
  job_created_at timestamptz not null,
  -- Rows of items, results and rejected rows stand below this number; those below next_seq are gone.
  seqs           bigint not null,
  next_seq       bigint not null default 0,
  removed_at     timestamptz not null default now()
);

-- What a request with an idempotency key was made of: the same key with something else is refused.
alter table jobs add column fingerprint text;

-- Quotas: unfinished jobs of an owner, and the bytes of all.
create index jobs_unfinished_by_owner on jobs (owner_id) where state not in ('DONE', 'FAILED', 'CANCELLED');
