-- Reprocessing opens a generation: what was asked for, how many items were taken and how many were left out.
create table generations (
  job_id     uuid not null,
  generation int not null check (generation > 1),
  -- Made by the caller: one whose COMMIT reply was lost finds itself here.
  request_id uuid not null,
  selection  jsonb not null,
  selected   bigint not null,
  left_out   jsonb not null default '{}',
  opened_at  timestamptz not null default now(),
  primary key (job_id, generation)
);

-- Input that somebody corrected, from a generation on. The item itself stays as it came.
create table item_edits (
  job_id      uuid not null,
  seq         bigint not null,
  generation  int not null,
  input_bytes int not null,
  input       jsonb not null,
  summary     text,
  edited_at   timestamptz not null default now(),
  primary key (job_id, seq, generation)
);

-- Claims of such jobs look for edits; the others are spared it.
alter table jobs add column has_edits boolean not null default false;

-- How the items of a generation ended, compared with how they had ended before.
alter table summaries add column diff jsonb;

-- Which error group a result belongs to, and how many newest results of a group there are.
alter table results add column signature text;
alter table error_groups add column failed bigint not null default 0;
