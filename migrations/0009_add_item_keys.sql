-- The natural key of a row (jobs.key_columns), a few words of it for lists, and what was repaired to keep it.
alter table items
  add column item_key text,
  add column summary  text,
  add column repair   text;

create unique index items_by_key on items (job_id, item_key) where item_key is not null;
