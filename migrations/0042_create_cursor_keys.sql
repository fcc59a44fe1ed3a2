-- The key that cursors of the HTTP API are signed with: one for all servers of a database, so that a page can be continued
-- at another server and after a restart. Whoever reads the database can read what cursors are about anyway.
create table cursor_keys (
  only_one boolean primary key default true check (only_one),
  key bytea not null
);

insert into cursor_keys (key)
values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
