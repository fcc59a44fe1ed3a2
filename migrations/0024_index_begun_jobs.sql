-- Of an owner with a limit on running jobs only the first few are seen, those that have begun before the others: without
-- this every look would sort all jobs that wait for their turn.
create index jobs_begun_first on jobs (owner_id, (started_at is not null) desc, priority desc, created_at)
  where state in ('INGESTING', 'QUEUED', 'RUNNING');
