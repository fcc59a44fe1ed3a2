import type { JobState } from '../../../core/jobs/job-state.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const COLUMNS = 'event_id, position, kind, job_id, owner_id, at, generation, state, detail';

// Positions become visible in order, so a reader that has reached one has missed none before it. Index:
// job_events_by_position.
const READ_EVENTS: Statement = {
  name: 'read-job-events',
  text: `
    select ${COLUMNS} from job_events
    where position > $1 and position <= $2 and ($3::text[] is null or owner_id = any($3::text[]))
    order by position
    limit $4`,
};

// Index: job_events_of_job.
const READ_EVENTS_OF_JOB: Statement = {
  name: 'read-events-of-job',
  text: `
    select ${COLUMNS} from job_events
    where job_id = $3 and position > $1 and position <= $2
    order by position
    limit $4`,
};

const READ_POSITIONS: Statement = {
  name: 'read-event-positions',
  text: 'select last, pruned from event_positions',
};

export interface StoredJobEvent {
  eventId: number;
  position: number;
  kind: string;
  jobId: string;
  ownerId: string;
  at: Date;
  generation: number;
  state: JobState;
  detail: unknown;
}

/** Events of one job, or of the jobs of these owners; null for all owners. */
export type EventScope = { jobId: string } | { owners: readonly string[] | null };

export async function readJobEvents(
  db: Executor,
  scope: EventScope,
  between: { after: number; upTo: number; limit: number },
): Promise<StoredJobEvent[]> {
  const { after, upTo, limit } = between;
  const rows =
    'jobId' in scope
      ? await db.runArrays(READ_EVENTS_OF_JOB, [after, upTo, scope.jobId, limit])
      : await db.runArrays(READ_EVENTS, [after, upTo, scope.owners, limit]);
  return rows.map(toEvent);
}

/** Reads a row that starts with the columns above, in their order. */
export function toEvent(row: unknown[]): StoredJobEvent {
  return {
    eventId: row[0] as number,
    position: row[1] as number,
    kind: row[2] as string,
    jobId: row[3] as string,
    ownerId: row[4] as string,
    at: row[5] as Date,
    generation: row[6] as number,
    state: row[7] as JobState,
    detail: row[8],
  };
}

/** The last assigned position, and the position up to which events have been deleted. */
export async function readEventPositions(db: Executor): Promise<{ last: number; pruned: number }> {
  const { rows } = await db.run<{ last: number; pruned: number }>(READ_POSITIONS);
  return rows[0]!;
}
