-- One row of input. Append-only: an item row is never updated.
-- No foreign key to jobs: a row trigger per item would double the cost of COPY.
create table items (
  job_id      uuid not null,
  seq         bigint not null,
  -- Size of the input as text: claims are bounded in bytes, and the stored size may be compressed.
  input_bytes int not null,
  input       jsonb not null,
  primary key (job_id, seq)
);
