// The state machine of a job: one column, one table of allowed moves, one of what its owner may ask for.
//
//   INGESTING ──seal──▶ QUEUED ──first claim──▶ RUNNING ──no span left──▶ FINALIZING ──▶ DONE
//       │                  │                       │ ▲                      ▲    │
//       │                  └──────── pause ────────┤ └─ resume              │    └──▶ CANCELLED
//       │                                          ▼                        │
//       └───────────── pause ─────────────────▶ PAUSED                      │
//   every state before the end ──cancel──▶ CANCELLING ──no span left────────┘
//   INGESTING, PAUSED ──unreadable file──▶ FAILED;  FINALIZING ──output ends its processes──▶ FAILED
//   DONE, CANCELLED, FAILED ──reprocess──▶ QUEUED;  PAUSED ──reprocess──▶ PAUSED, with a further generation
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
  'CANCELLING',
  'CANCELLED',
] as const;
export type JobState = (typeof JOB_STATES)[number];

export const CLAIMABLE_STATES: readonly JobState[] = ['INGESTING', 'QUEUED', 'RUNNING'];

const MOVES: Record<JobState, readonly JobState[]> = {
  INGESTING: ['QUEUED', 'RUNNING', 'PAUSED', 'CANCELLING', 'FAILED'],
  QUEUED: ['RUNNING', 'PAUSED', 'FINALIZING', 'CANCELLING'],
  RUNNING: ['PAUSED', 'FINALIZING', 'CANCELLING'],
  PAUSED: ['INGESTING', 'QUEUED', 'RUNNING', 'CANCELLING', 'FAILED'],
  FINALIZING: ['DONE', 'FAILED', 'CANCELLED', 'CANCELLING'],
  DONE: ['QUEUED'],
  FAILED: ['QUEUED'],
  CANCELLING: ['FINALIZING'],
  CANCELLED: ['QUEUED'],
};

export function canMove(from: JobState, to: JobState): boolean {
  return MOVES[from].includes(to);
}

export function isFinished(state: JobState): boolean {
  return state === 'DONE' || state === 'FAILED' || state === 'CANCELLED';
}

/** It ends by itself, soon. */
export function isPassing(state: JobState): boolean {
  return state === 'FINALIZING' || state === 'CANCELLING';
}

export type ControlAction = 'pause' | 'resume' | 'cancel' | 'reprocess';

/**
 * States from which an action moves a job, or opens a generation of one that stays PAUSED. From others it is refused, or has
 * happened already.
 */
const CONTROLLABLE: Record<ControlAction, readonly JobState[]> = {
  pause: CLAIMABLE_STATES,
  resume: ['PAUSED'],
  cancel: ['INGESTING', 'QUEUED', 'RUNNING', 'PAUSED', 'FINALIZING'],
  reprocess: ['DONE', 'CANCELLED', 'FAILED', 'PAUSED'],
};

export function canControl(action: ControlAction, state: JobState): boolean {
  return CONTROLLABLE[action].includes(state);
}
