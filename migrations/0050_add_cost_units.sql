-- compatible from: 49
-- The unit of a job's costs, as its pipeline declared it when the job was created: a currency code, `tokens` or another
-- word. Null: unknown. A job keeps its unit, so amounts recorded so far keep their meaning when the pipeline changes.
alter table jobs add column cost_unit text;
