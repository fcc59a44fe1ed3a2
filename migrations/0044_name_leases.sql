-- Every lease has the same columns: token, expires_at, and where it is known worker_id; with the name of the work before them
-- where a row has several leases or another expires_at.
alter table jobs rename column finalize_owner to finalize_worker_id;

alter table exports rename column token to prepare_token;
alter table exports rename column lease_until to prepare_expires_at;

-- The time of the next attempt was the end of the lease too. Rows that are being sent keep the time they have.
alter table deliveries rename column lease_token to token;
alter table deliveries add column expires_at timestamptz;
update deliveries set expires_at = next_attempt_at where token is not null;
alter table deliveries add check ((token is null) = (expires_at is null));

alter table callbacks rename column lease_token to token;
alter table callbacks add column expires_at timestamptz;
update callbacks set expires_at = next_attempt_at where token is not null;
alter table callbacks add check ((token is null) = (expires_at is null));
