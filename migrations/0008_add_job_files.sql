-- A job may come from a file: which one, how it was read, and how far the reading came.
alter table jobs
  -- Kind, name, hash, size and blob of the file, the options it is read with and what was detected.
  add column source            jsonb,
  -- [{key, header}] in the order of the file: jsonb keeps no order of keys.
  add column input_columns     jsonb not null default '[]',
  -- Rows read, stored, rejected, repaired, invalid, taken over.
  add column ingest_report     jsonb not null default '{}',
  -- Who reads the file. Renewed with every batch; the token is the fence.
  add column ingest_token      uuid,
  add column ingest_expires_at timestamptz,
  -- Of the rows as they were read, in order; set by the seal.
  add column input_checksum    text,
  -- Keys of the input whose values together name a row, and the job whose results of equal rows are taken over.
  add column key_columns       text[] not null default '{}',
  add column updates_job_id    uuid,
  -- Formats of the output files that the job owes its caller.
  add column outputs           text[] not null default '{csv}';

create index jobs_by_file on jobs ((source ->> 'blobKey')) where source is not null;
