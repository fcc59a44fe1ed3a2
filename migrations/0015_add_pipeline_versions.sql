-- A job runs through the version of the pipeline that it was made with; null: any version.
alter table jobs add column pipeline_version text;
-- What a worker can run: [{pipeline, version, phases}].
alter table workers add column abilities jsonb not null default '[]';
