// Parts of "job j is stuck", shared by the statement that marks stuck jobs and the views that show them.
import { ENDED } from './job-counts.ts';

/** Time of the last row that finished or moved to its next phase, or of the last event, such as a resume. */
export const LAST_PROGRESS = `greatest(
          j.created_at,
          j.started_at,
          (select max(l.at) from ledger l where l.job_id = j.job_id and (${ENDED} > 0 or l.advanced > 0)),
          (select max(e.at) from job_events e where e.job_id = j.job_id and e.kind <> 'job.stuck')
        )`;

/** Spans `s` with rows that run or could run. */
export const IS_DUE = '(s.worker_id is not null or s.ready_at <= now())';
