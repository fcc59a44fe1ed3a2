// For hostile-handlers.test.ts; the table itself is plain JavaScript, like the child that runs it.
export interface HostileCase {
  run: () => unknown;
  status: 'DONE' | 'ERROR' | 'SKIPPED' | 'NOT_FOUND';
  result?: unknown;
  errorClass?: string;
  message?: RegExp;
}

export const EMOJI: string;
export const HOSTILE_CASES: Record<string, HostileCase>;
export const HOSTILE_CASES_ALONE: Record<string, HostileCase>;
