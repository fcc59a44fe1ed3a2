-- Names the generated key that secrets of webhooks are encrypted with, so that all servers use one. The key itself is in
-- the blob store: whoever has only the database cannot read the secrets.
alter table webhook_intake add column secret_key_id text;
