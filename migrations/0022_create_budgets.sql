-- What may be spent, in units that the owner chooses: by a job, by one item of it, by an owner per day and in all.
alter table jobs
  add column budget_max      double precision check (budget_max >= 0),
  add column budget_per_item double precision check (budget_per_item >= 0),
  -- Why a job paused itself; null when somebody paused it.
  add column paused_because  text;
alter table owners
  add column budget_per_day double precision check (budget_per_day >= 0),
  add column budget_total   double precision check (budget_total >= 0);

-- What was spent and what is reserved for calls under way, one row per scope: job:<job id>, owner:<owner id>,
-- day:<owner id>. Only scopes that have a budget are here. Workers reserve in bulk, so a row is touched a few times per
-- second, whatever the number of calls.
create table budgets (
  scope     text primary key,
  -- core/budget-control: spent, counted as spent for workers that are gone, and who holds what.
  state     jsonb,
  synced_at timestamptz not null default now()
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
