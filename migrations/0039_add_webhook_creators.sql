-- Who created a webhook: it stops when the account is disabled. Null for those of before, whose owner counts instead.
alter table webhooks add column created_by text;
create index webhooks_by_creator on webhooks (created_by) where created_by is not null;

-- Names the generated key that secrets of webhooks are encrypted with, so that all servers use one. The key itself is in
-- the blob store: whoever has only the database cannot read the secrets.
alter table webhook_intake add column secret_key_id text;
