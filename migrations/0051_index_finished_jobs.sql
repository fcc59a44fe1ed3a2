-- compatible from: 49
-- Jobs that are open or finished lately: the overview, and costs by day. Changed when a job finishes or is reopened,
-- never by a flush.
create index jobs_by_finish on jobs ((coalesce(finished_at, 'infinity')));
