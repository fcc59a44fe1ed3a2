-- compatible from: 49
-- Lines of the file, or rows of the sheet, in which the items of an ingest batch begin. One row per batch: where a line does not
-- follow the one before, `places` has the position in the batch and `lines` the line. So a file of one line per row stores one
-- pair per batch.
create table line_runs (
  job_id     uuid not null,
  first_seq  bigint not null,
  item_count int not null,
  places     int[] not null,
  lines      bigint[] not null,
  primary key (job_id, first_seq)
);
