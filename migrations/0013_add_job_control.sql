-- A job whose owner gave it up ends in steps: CANCELLING while items without a result are still given one.
alter type job_state add value 'CANCELLING' before 'CANCELLED';

alter table jobs
  -- Of the newest generation; what decides about the outcome. A new generation starts without it.
  add column cancelled_at timestamptz,
  -- Items from this seq on are held until they are released; null: nothing is held.
  add column trial_items  bigint check (trial_items > 0);

-- By what is over, not by what is open: a value that was just added cannot be named here, and files of paused jobs
-- are read on.
drop index jobs_open;
create index jobs_open on jobs (pipeline, created_at) where state not in ('DONE', 'FAILED', 'CANCELLED');
