-- What happened to jobs, written in the transaction of the change itself; read by event streams and webhooks.
create table job_events (
  event_id   bigint generated always as identity primary key,
  -- Given after the commit, one numbering at a time. The identity alone would not do: a transaction that took its id
  -- earlier can commit later, behind the back of a reader who has passed that id already.
  position   bigint,
  job_id     uuid not null,
  owner_id   text not null,
  kind       text not null,
  at         timestamptz not null default now(),
  generation int not null,
  state      job_state not null,
  detail     jsonb not null default '{}'
);
create index job_events_unnumbered on job_events (event_id) where position is null;
create unique index job_events_by_position on job_events (position) where position is not null;
create index job_events_of_job on job_events (job_id, position);

-- One row: the last position that was given, and up to which events were removed.
create table event_positions (
  only_row boolean primary key default true check (only_row),
  last     bigint not null default 0,
  pruned   bigint not null default 0
);
insert into event_positions default values;

-- It held the ends of generations and had no reader.
insert into job_events (job_id, owner_id, kind, at, generation, state, detail)
select o.job_id, j.owner_id, o.type, o.created_at, (o.payload->>'generation')::int, (o.payload->>'outcome')::job_state,
       jsonb_build_object('outcome', o.payload->>'outcome')
from outbox o join jobs j using (job_id)
order by o.created_at;
drop table outbox;
