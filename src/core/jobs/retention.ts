// How long finished jobs are kept: a number of days, where 0 means for ever.

export const MAX_KEEP_DAYS = 36_500;

/** Rules, the most specific first. */
export const RETENTION_RULES = ['job', 'owner', 'pipeline', 'setting'] as const;

export interface Retention {
  keepDays: number;
  /** The rule that has a value. */
  decidedBy: (typeof RETENTION_RULES)[number];
  /** Null if the job is kept for ever or has not finished. */
  expiresAt: Date | null;
}

export function isKeepDays(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_KEEP_DAYS;
}

export function describeKeepDays(days: number): string {
  if (days === 0) return 'kept for ever';
  return `kept for ${days} ${days === 1 ? 'day' : 'days'} after it has finished`;
}
