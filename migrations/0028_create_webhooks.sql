-- Other programs that are told what happens to the jobs of an owner.
create table webhooks (
  webhook_id        uuid primary key,
  owner_id          text not null,
  url               text not null,
  -- Of the url: at most two deliveries go to one host at once.
  host              text not null,
  kinds             text[] not null check (cardinality(kinds) > 0),
  description       text not null default '',
  state             text not null default 'ACTIVE' check (state in ('ACTIVE', 'DISABLED')),
  disabled_because  text,
  -- Encrypted where a key is set: platform/secret-box.ts. The old one signs too until its time is over.
  secret            text not null,
  old_secret        text,
  old_secret_until  timestamptz,
  created_at        timestamptz not null default now(),
  last_delivered_at timestamptz
);
create index webhooks_by_owner on webhooks (owner_id, created_at, webhook_id);

-- One row: up to which position events have become deliveries.
create table webhook_intake (
  only_row boolean primary key default true check (only_row),
  taken    bigint not null default 0
);
insert into webhook_intake default values;

-- A message to a webhook: one per webhook and event, whatever the number of attempts.
create table deliveries (
  delivery_id     uuid primary key default gen_random_uuid(),
  webhook_id      uuid not null references webhooks on delete cascade,
  -- Null for a test message.
  event_id        bigint,
  kind            text not null,
  job_id          uuid,
  -- What is signed and sent, the same at each attempt.
  body            text not null,
  state           text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'DEAD')),
  attempts        int not null default 0,
  -- While somebody is at it: when another may try. The token is whose result counts.
  next_attempt_at timestamptz not null default now(),
  lease_token     uuid,
  last_status     int,
  last_error      text,
  last_ms         int,
  created_at      timestamptz not null default now(),
  delivered_at    timestamptz,
  unique (webhook_id, event_id)
);
create index deliveries_due on deliveries (webhook_id, next_attempt_at) where state = 'PENDING';
create index deliveries_by_webhook on deliveries (webhook_id, created_at desc, delivery_id desc);
create index deliveries_ended on deliveries (created_at) where state <> 'PENDING';

-- Functions of pipelines that are to be called, written in the transaction of what they are told.
create table callbacks (
  job_id          uuid not null,
  generation      int not null,
  kind            text not null check (kind in ('done', 'itemError', 'phaseDone')),
  -- The phase of phaseDone; 0 otherwise.
  part            int not null default 0,
  pipeline        text not null,
  pipeline_version text,
  state           text not null default 'PENDING' check (state in ('PENDING', 'DONE', 'DEAD')),
  -- itemError: failed items up to this seq have been told.
  told_seq        bigint not null default -1,
  attempts        int not null default 0,
  next_attempt_at timestamptz not null default now(),
  lease_token     uuid,
  last_error      text,
  created_at      timestamptz not null default now(),
  primary key (job_id, generation, kind, part)
);
create index callbacks_due on callbacks (pipeline, next_attempt_at) where state = 'PENDING';
create index callbacks_dead on callbacks (job_id) where state = 'DEAD';
create index callbacks_ended on callbacks (created_at) where state = 'DONE';
