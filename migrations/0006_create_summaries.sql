-- The final record of a generation. The primary key is what makes it exactly one.
create table summaries (
  job_id     uuid not null,
  generation int not null,
  outcome    job_state not null check (outcome in ('DONE', 'FAILED', 'CANCELLED')),
  total      bigint not null,
  counts     jsonb not null,
  phases     jsonb not null,
  timings    jsonb not null,
  files      jsonb not null default '[]',
  created_at timestamptz not null default now(),
  primary key (job_id, generation)
);

-- Events to deliver, written in the transaction of what they report.
create table outbox (
  job_id     uuid not null,
  event_id   uuid not null default gen_random_uuid(),
  type       text not null,
  payload    jsonb not null,
  created_at timestamptz not null default now(),
  primary key (job_id, event_id)
);
