-- What each call cost; null where nothing is known of a cost. An item's cost is the sum over these three tables.
alter table results add column cost double precision;
alter table stage_outputs add column cost double precision;
alter table attempt_errors add column cost double precision;

-- The sum of the above, and what was paid for calls whose outcome did not count because the lease was lost.
alter table ledger
  add column cost        double precision not null default 0,
  add column fenced_cost double precision not null default 0;

-- Over all generations.
alter table summaries
  add column cost        double precision not null default 0,
  add column fenced_cost double precision not null default 0;
