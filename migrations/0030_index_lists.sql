-- Pages of jobs over all owners, newest first; those of an owner have jobs_by_owner.
create index jobs_by_time on jobs (created_at desc, job_id);

-- The items that an item emitted. Rows of files have no parent and are not in it, so COPY does not pay for it.
create index items_by_parent on items (job_id, parent_seq, seq) where parent_seq is not null;

-- As of the last heartbeat: what the slots of each phase do (core/pool-stats), and what part of its work a worker takes on
-- and why. Null: never told.
alter table workers
  add column pools    jsonb not null default '[]',
  add column pressure jsonb;
