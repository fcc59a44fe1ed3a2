// What happens to a job; also what webhooks are told. Stands apart from the schemas, which the page does without.
export const EVENT_KINDS = [
  'job.created',
  'job.sealed',
  'job.started',
  'job.paused',
  'job.resumed',
  'job.cancelling',
  'job.finished',
  'job.failed',
  'job.reprocessed',
  'job.changed',
  'job.deleted',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
