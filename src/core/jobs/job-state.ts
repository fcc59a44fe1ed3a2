// The state machine of a job: one column, one table of allowed transitions, and one of the actions its owner may take.
//
//   INGESTING ──seal──▶ QUEUED ──first claim──▶ RUNNING ──no span left──▶ FINALIZING ──▶ DONE
//       │                  │                       │ ▲                      ▲    │
//       │                  └──────── pause ────────┤ └─ resume              │    └──▶ CANCELLED
//       │                                          ▼                        │
//       └───────────── pause ─────────────────▶ PAUSED                      │
//   every state before the end ──cancel──▶ CANCELLING ──no span left────────┘
//   INGESTING, PAUSED ──unreadable file──▶ FAILED;  FINALIZING ──output crashes processes──▶ FAILED
//   DONE, CANCELLED, FAILED ──reprocess──▶ QUEUED;  PAUSED ──reprocess──▶ PAUSED, with a further generation
//
// Items may be claimed while the file is still being read, so INGESTING is claimable too.
//
// A job is sealed when no more rows will be added and its total is known. It is complete when it is sealed or
// cancelled and no span is left, so every item has a result. Then it is finalized: its output files and its summary
// are written. After that it is finished, in one of three states.

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

type States = readonly JobState[];

/** States in which items may be claimed. */
export const CLAIMABLE_STATES: States = ['INGESTING', 'QUEUED', 'RUNNING'];
/** States in which the file may be read and items may be added, while the job is not sealed. */
export const INGEST_STATES: States = ['INGESTING', 'PAUSED'];
/** States in which a sealed job is complete once its last span is gone. */
export const COMPLETABLE_STATES: States = ['QUEUED', 'RUNNING'];
/** States in which items run, or will run after a resume. */
export const OPEN_STATES: States = [...CLAIMABLE_STATES, 'PAUSED'];
export const FINISHED_STATES: States = ['DONE', 'FAILED', 'CANCELLED'];

/**
 * Every change of state. Statements of the store name their transition and take its `from` states from here
 * (store/job-states.ts). A paused job that is reopened stays paused: that is not a transition.
 */
export const TRANSITIONS = {
  seal: { from: ['INGESTING'], to: COMPLETABLE_STATES },
  start: { from: ['QUEUED'], to: ['RUNNING'] },
  pause: { from: CLAIMABLE_STATES, to: ['PAUSED'] },
  resume: { from: ['PAUSED'], to: CLAIMABLE_STATES },
  failIngest: { from: INGEST_STATES, to: ['FAILED'] },
  cancel: { from: [...OPEN_STATES, 'FINALIZING'], to: ['CANCELLING'] },
  beginFinalizing: { from: [...COMPLETABLE_STATES, 'CANCELLING'], to: ['FINALIZING'] },
  finish: { from: ['FINALIZING'], to: FINISHED_STATES },
  reopen: { from: FINISHED_STATES, to: ['QUEUED'] },
} satisfies Record<string, { from: States; to: States }>;
export type Transition = keyof typeof TRANSITIONS;

export function isFinished(state: JobState): boolean {
  return FINISHED_STATES.includes(state);
}

/** True for states that end soon without any action. */
export function isPassing(state: JobState): boolean {
  return state === 'FINALIZING' || state === 'CANCELLING';
}

export type ControlAction = 'pause' | 'resume' | 'cancel' | 'reprocess';

/**
 * States in which an action changes a job, or opens a generation of a job that stays PAUSED. In other states the
 * action is refused, or has already happened.
 */
const CONTROLLABLE: Record<ControlAction, States> = {
  pause: TRANSITIONS.pause.from,
  resume: TRANSITIONS.resume.from,
  cancel: TRANSITIONS.cancel.from,
  reprocess: [...TRANSITIONS.reopen.from, 'PAUSED'],
};

export function canControl(action: ControlAction, state: JobState): boolean {
  return CONTROLLABLE[action].includes(state);
}
