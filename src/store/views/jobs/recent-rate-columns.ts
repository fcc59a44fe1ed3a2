// Parts of a rate, the same in every view that shows one: rows of the ledger entries `l` that ended in the last
// minute, and for how long the run of job `j` is going on. Rows that were cancelled were not worked on. Entries that
// book reprocessed rows off are negative, and not a rate.
export const ENDED =
  'greatest(l.done, 0) + greatest(l.error, 0) + greatest(l.not_found, 0) + greatest(l.skipped, 0)';
export const IN_LAST_MINUTE = `l.at > now() - interval '1 minute'`;
export const RUNNING_MS =
  'case when j.finished_at is null then extract(epoch from now() - j.started_at)::float8 * 1000 end';
