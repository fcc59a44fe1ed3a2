-- Rows of a file that could not become items, in the order of the file. Never a silently dropped row.
create table rejected_rows (
  job_id  uuid not null,
  ordinal bigint not null,
  -- Line of a text file, or row of a sheet, from 1.
  line    bigint not null,
  reason  text not null,
  -- The row as it stood in the file; long ones are cut.
  raw     text not null,
  primary key (job_id, ordinal)
);
