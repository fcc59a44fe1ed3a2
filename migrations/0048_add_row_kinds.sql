-- Emitted rows of another kind: the phase they start at (null: the first, as for the rows of a file), and whether a job
-- has such rows, so that jobs without them need not look.
alter table items add column start_phase smallint;
alter table jobs add column has_kinds boolean not null default false;
