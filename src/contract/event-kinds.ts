// Lifecycle events of jobs, also sent to webhooks. Separate from the schemas, which the page does not load.
export const EVENT_KINDS = [
  'job.created',
  'job.sealed',
  'job.started',
  'job.paused',
  'job.resumed',
  'job.cancelling',
  'job.finished',
  'job.failed',
  'job.stuck',
  'job.reprocessed',
  'job.changed',
  'job.deleted',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
