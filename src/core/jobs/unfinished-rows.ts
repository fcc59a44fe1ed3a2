// The one split of a job's unfinished rows, by what they wait for. The database knows how many rows workers hold and
// how many wait outside; workers report what they do with the rows they hold. Reports are a few seconds old, so they
// only divide the held rows: the parts always add up to the unfinished rows.

/** In the order in which they are shown. */
export const UNFINISHED_PARTS = [
  'running',
  'queued',
  'rateLimit',
  'retry',
  'budget',
  'worker',
  'onHold',
] as const;
export type UnfinishedPart = (typeof UNFINISHED_PARTS)[number];
export type UnfinishedRows = Record<UnfinishedPart, number>;

/** The words for a number of rows: "3 waiting for a retry". */
export const UNFINISHED_WORDS: Record<UnfinishedPart, string> = {
  running: 'running',
  queued: 'queued on a worker',
  rateLimit: 'waiting for a rate limit',
  retry: 'waiting for a retry',
  budget: 'waiting for a budget',
  worker: 'waiting for a worker',
  onHold: 'on hold',
};

/** Unfinished rows as the database knows them. */
export interface StoredRows {
  /** Held by workers. */
  leased: number;
  /** Not held by a worker; includes the next three. */
  waiting: number;
  retrying: number;
  /** Returned by a worker until a rate limit or a budget has room. */
  limited: number;
  /** Held until a trial is approved. */
  held: number;
}

/** The newest reports of all workers about one job. */
export interface JobReports {
  running: number;
  rateLimit: number;
  budget: number;
}

/** `isPaused`: rows that are ready wait for a person, or for the budget that paused the job. */
export function splitUnfinished(
  stored: StoredRows,
  reported: JobReports | null,
  paused: 'budget' | 'person' | null,
): UnfinishedRows {
  let left = stored.leased;
  const take = (count: number): number => {
    const taken = Math.max(0, Math.min(left, count));
    left -= taken;
    return taken;
  };
  const running = take(reported?.running ?? 0);
  const rateLimit = take(reported?.rateLimit ?? 0);
  const budget = take(reported?.budget ?? 0);
  const ready = stored.waiting - stored.retrying - stored.limited - stored.held;
  // A returned row waits for what the rows that its worker kept wait for.
  const forBudget = budget > 0 && rateLimit === 0;
  return {
    running,
    queued: left,
    rateLimit: rateLimit + (forBudget ? 0 : stored.limited),
    retry: stored.retrying,
    budget: budget + (forBudget ? stored.limited : 0) + (paused === 'budget' ? ready : 0),
    worker: paused === null ? ready : 0,
    onHold: stored.held + (paused === 'person' ? ready : 0),
  };
}
