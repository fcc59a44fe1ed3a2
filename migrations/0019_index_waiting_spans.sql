-- What a claim and the search for work read must not grow with the spans that wait for later: those a trial holds
-- (ready_at is infinity), and retries. Measured with 100,000 of them on PostgreSQL 15: a look for work read 4,600 pages
-- (40 ms) and now reads 9 (0.1 ms); a claim of a lower priority behind them 1,300 (5 ms) and now 31 (0.6 ms); the claim
-- of a suspect behind as many ready spans 5,000 (87 ms) and now 26.
alter table spans add column suspect boolean not null generated always as (crashes > 0) stored;

-- Suspects are claimed apart, so they stand apart: before, a claim read one kind to find the other.
drop index spans_waiting;
create index spans_waiting on spans (job_id, phase, suspect, priority desc, ready_at, span_id) where owner is null;

-- The first ready time over all priorities, which spans_waiting has only per priority. Its condition on ready_at
-- keeps held spans out, and keeps it from claims: their order is not its order.
create index spans_first_ready on spans (job_id, phase, suspect, ready_at) where owner is null and ready_at < 'infinity';
