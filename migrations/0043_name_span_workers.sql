-- A span is held by a worker; an owner is the tenant that a job belongs to. Indexes and constraints follow the name.
alter table spans rename column owner to worker_id;
