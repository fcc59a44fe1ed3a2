-- Requests with an Idempotency-Key. The row is there before the request is carried out and gets its answer afterwards, so
-- that the same key again is answered the same. A row without an answer belongs to a request that runs, or whose process died.
create table idempotency_keys (
  caller       text not null,
  -- SHA-256 of the key, and of what was asked.
  key_hash     bytea not null,
  request_hash bytea not null,
  -- Of the request that made the row: only that one may answer or release it.
  token        uuid not null,
  status       smallint,
  answer       text,
  created_at   timestamptz not null default now(),
  primary key (caller, key_hash),
  check ((status is null) = (answer is null))
);
create index idempotency_keys_by_time on idempotency_keys (created_at);
