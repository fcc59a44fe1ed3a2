-- Limits of the outside world, one row per resource and key (a host, a tenant; '' when there is no key). Workers take
-- permits in bulk, so a row is touched a few times per second, whatever the number of calls.
create table resources (
  name      text not null,
  key       text not null,
  -- As declared by the worker that synced last.
  limits    jsonb not null,
  -- core/resource-control: who holds what, the line of starts, the part of the limits that is used at present.
  state     jsonb,
  synced_at timestamptz not null default now(),
  primary key (name, key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What an operator set while things run. Key '' is for all keys of the resource.
create table resource_overrides (
  name       text not null,
  key        text not null,
  override   jsonb not null,
  changed_at timestamptz not null default now(),
  primary key (name, key)
);

-- Who changed what by hand.
create table audit (
  audit_id bigint generated always as identity primary key,
  at       timestamptz not null default now(),
  actor    text not null,
  action   text not null,
  subject  text not null,
  detail   jsonb not null default '{}'
);
create index audit_by_subject on audit (subject, audit_id desc);
