-- The work of a worker on each job right now: running calls, and rows that wait for a rate limit or a budget. Spans only
-- know that a worker holds the rows. Written every few seconds while the worker has rows.
alter table workers
  add column calls    jsonb not null default '[]',
  add column calls_at timestamptz;
