-- Processes in a row that ended or stalled while they read the file of a job or wrote its output files: their leases ran
-- out. A stored batch, or an output file that no attempt had come to before, sets the count back to 0.
alter table jobs
  add column ingest_takeovers int not null default 0,
  add column finalize_takeovers int not null default 0,
  add column finalize_files int not null default 0;
