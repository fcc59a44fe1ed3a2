-- Blobs of one submitted file: the file itself, or the images of a set and their manifest. The row is written before the
-- first blob and removed before the last one goes: a blob of a set without a row is garbage, now and for ever.
create table file_sets (
  set_id     uuid primary key,
  -- Null until a job is created of it; of such a set nothing is kept when it is refused or old.
  job_id     uuid,
  created_at timestamptz not null default now()
);
create index file_sets_without_job on file_sets (created_at) where job_id is null;
