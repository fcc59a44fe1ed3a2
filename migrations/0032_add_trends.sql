-- How often a group of errors was met over time: counts per step from first_seen on, at most 32 of them. A group that
-- lasts longer gets longer steps, so a row never grows. Groups from before have none.
alter table error_groups
  add column trend        bigint[] not null default '{}',
  add column trend_step_s int not null default 1;

-- Calls that ended and calls that were refused for their number, since the row is there; added by the sync that
-- writes the row anyway.
alter table resources
  add column calls     bigint not null default 0,
  add column throttled bigint not null default 0;

-- What was in force and used, sampled at a slow rate and kept for a day. One row per key and step, whoever samples.
create table resource_samples (
  name        text not null,
  key         text not null,
  at          timestamptz not null,
  -- Null: no limit.
  concurrency double precision,
  rate        double precision,
  in_use      int not null,
  -- Running totals: what happened between two samples is their difference.
  calls       bigint not null,
  throttled   bigint not null,
  primary key (name, key, at)
);
create index resource_samples_by_time on resource_samples (at);
