-- Who created a webhook: it stops when the account is disabled. Null for those of before, whose owner counts instead.
alter table webhooks add column created_by text;
create index webhooks_by_creator on webhooks (created_by) where created_by is not null;
