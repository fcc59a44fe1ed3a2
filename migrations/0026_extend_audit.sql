-- Which request of the API an entry comes from. The request id stands in the answer and in the log.
alter table audit add column request_id text, add column address text;
create index audit_by_actor on audit (actor, audit_id desc);

-- Append-only for everybody, also where one role owns all tables.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'entries of the audit are never changed or removed' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_is_append_only before update or delete or truncate on audit
  for each statement execute function refuse_audit_change();

