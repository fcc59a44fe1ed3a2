-- What time slices of a job have learned about it (core/learned-times), for the next one, wherever it runs.
alter table jobs add column slice_state jsonb;
