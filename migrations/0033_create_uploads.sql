-- Files that are sent in parts, so that a client can go on where it stopped. The parts are blobs; a job is made of them when
-- all are there. An upload lives for a fixed time from its beginning.
create table uploads (
  upload_id  uuid primary key,
  owner_id   text not null,
  name       text not null,
  -- As announced, and as received so far: the next part begins there.
  bytes      bigint not null check (bytes >= 0),
  received   bigint not null default 0 check (received between 0 and bytes),
  part_count int not null default 0,
  -- The job that was made of it: asking again leads to it.
  job_id     uuid,
  created_at timestamptz not null default now()
);
create index uploads_by_owner on uploads (owner_id) where job_id is null;
create index uploads_by_time on uploads (created_at);

create table upload_parts (
  upload_id uuid not null references uploads on delete cascade,
  start     bigint not null,
  bytes     bigint not null check (bytes > 0),
  blob_key  text not null,
  primary key (upload_id, start)
);
