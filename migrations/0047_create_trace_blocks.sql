-- Traces of attempts are stored as one row per block of a flush, as results are, instead of one row each. A block has the
-- traces of attempts that logged, failed, or followed a failure, of items that are near each other. Written by the flush,
-- never updated.
create table trace_blocks (
  job_id     uuid not null,
  first_seq  bigint not null,
  block_id   bigint generated always as identity,
  last_seq   bigint not null,
  generation int not null,
  phase      smallint not null,
  worker_id  uuid not null,
  stored_at  timestamptz not null default now(),
  -- The transaction of the flush. All transactions before pg_snapshot_xmin have ended, so a reader that follows a job up to
  -- there misses no block that commits late.
  stored_in  xid8 not null default pg_current_xact_id(),
  -- Log lines of all attempts of the block.
  line_count int not null,
  -- One line of JSON per attempt, which begins with its seq, attempt and outcome.
  traces     text not null,
  primary key (job_id, first_seq, block_id),
  -- Reads find the blocks of a seq by first_seq, which is at most this far below it.
  check (last_seq >= first_seq and last_seq - first_seq < 1000)
);
-- Compressing traces on every flush would cost more than writing them.
alter table trace_blocks alter column traces set storage external;
-- Log lines of a job in the order in which they were stored. Attempts that only failed are not in it.
create index trace_blocks_logged on trace_blocks (job_id, stored_in, block_id) where line_count > 0;

insert into trace_blocks (job_id, first_seq, last_seq, generation, phase, worker_id, line_count, traces)
select job_id, seq, seq, generation, phase, worker_id, case when log is null then 0 else json_array_length(log::json) end,
  '{"seq":' || seq || ',"attempt":' || attempt || ',"outcome":"' || outcome || '"'
    || ',"agoMs":' || greatest(0, round(extract(epoch from now() - started_at) * 1000)) || ',"durationMs":' || duration_ms
    || coalesce(',"retryAfterMs":' || retry_after_ms, '') || coalesce(',"strategy":' || to_json(strategy)::text, '')
    || coalesce(',"thrown":' || thrown, '') || coalesce(',"log":' || log, '') || ',"droppedLines":' || dropped_lines || '}'
from attempt_traces
order by job_id, seq, generation, phase, attempt;

drop table attempt_traces;
