// The state machine of a job: one column, one table of allowed moves.
//
//   INGESTING ──seal──▶ QUEUED ──first claim──▶ RUNNING ──no span left──▶ FINALIZING ──▶ DONE
//       │                  │                       │ ▲                        │
//       │                  └──────── pause ────────┤ └─ resume                └──▶ FAILED
//       │                                          ▼
//       └───────────── pause ─────────────────▶ PAUSED
//   every state before DONE ──cancel──▶ CANCELLED;  DONE, FAILED, CANCELLED ──reprocess──▶ RUNNING
//
// Items may be claimed while the file is still being read, so INGESTING is claimable too.

export const JOB_STATES = [
  'INGESTING',
  'QUEUED',
  'RUNNING',
  'PAUSED',
  'FINALIZING',
  'DONE',
  'FAILED',
  'CANCELLED',
] as const;
export type JobState = (typeof JOB_STATES)[number];

export const CLAIMABLE_STATES: readonly JobState[] = ['INGESTING', 'QUEUED', 'RUNNING'];

const MOVES: Record<JobState, readonly JobState[]> = {
  INGESTING: ['QUEUED', 'RUNNING', 'PAUSED', 'CANCELLED', 'FAILED'],
  QUEUED: ['RUNNING', 'PAUSED', 'FINALIZING', 'CANCELLED'],
  RUNNING: ['PAUSED', 'FINALIZING', 'CANCELLED'],
  PAUSED: ['INGESTING', 'RUNNING', 'CANCELLED'],
  FINALIZING: ['DONE', 'FAILED', 'CANCELLED'],
  DONE: ['RUNNING'],
  FAILED: ['RUNNING'],
  CANCELLED: ['RUNNING'],
};

export function canMove(from: JobState, to: JobState): boolean {
  return MOVES[from].includes(to);
}

export function isFinished(state: JobState): boolean {
  return state === 'DONE' || state === 'FAILED' || state === 'CANCELLED';
}
