-- Who is alive and what it can run. Correctness never depends on this table: leases carry their own expiry.
create table workers (
  worker_id    uuid primary key,
  name         text not null,
  version      text not null,
  pipelines    text[] not null,
  started_at   timestamptz not null default now(),
  heartbeat_at timestamptz not null default now()
);
