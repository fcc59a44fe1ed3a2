-- Files that watched sources have offered: each is taken once, whoever sees it first. The lease lets another poller go
-- on with a file whose poller died; the job id is derived from the file, so going on finds the same job.
create table source_files (
  source      text not null,
  -- Path and fingerprint (size and time, or ETag): the same name with other content is another file.
  file_id     text not null,
  path        text not null,
  bytes       bigint not null,
  state       text not null default 'taken' check (state in ('taken', 'done', 'failed')),
  token       uuid,
  expires_at  timestamptz,
  job_id      uuid,
  reason      text,
  taken_at    timestamptz not null default now(),
  finished_at timestamptz,
  primary key (source, file_id),
  check ((token is null) = (expires_at is null))
);

create index source_files_taken on source_files (source, expires_at) where state = 'taken';
