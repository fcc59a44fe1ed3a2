-- compatible from: 49
-- Days that a finished job is kept before it is deleted; 0 keeps it for ever. Null leaves the decision to the next rule:
-- job, owner, pipeline as the job was created, setting.
alter table jobs
  add column keep_days          int check (keep_days >= 0),
  add column pipeline_keep_days int check (pipeline_keep_days >= 0);
alter table owners add column keep_days int check (keep_days >= 0);
