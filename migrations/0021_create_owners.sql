-- What owners of jobs may have of the workers they share. Who is not here has weight 1 and no limits.
create table owners (
  owner_id         text primary key,
  weight           int not null default 1 check (weight between 1 and 1000),
  max_running_jobs int check (max_running_jobs > 0),
  max_in_flight    int check (max_in_flight > 0),
  changed_at       timestamptz not null default now()
);

-- The search for work goes from owner to owner and sees of each only the first jobs: a thousand jobs of one hide nobody.
-- Finished and paused jobs are not in it, so they are never passed over.
create index jobs_claimable on jobs (owner_id, priority desc, created_at) where state in ('INGESTING', 'QUEUED', 'RUNNING');
