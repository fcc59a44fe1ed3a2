-- Owners whose rows used a key, as {"owner": true}: keys are made of rows, so others must not see them.
alter table resources add column owners jsonb not null default '{}';
