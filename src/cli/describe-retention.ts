// How long a job is kept, in words.
import { describeKeepDays } from '../core/jobs/retention.ts';
import type { ShownJob } from './remote/job-port.ts';

const BECAUSE = {
  job: '',
  owner: ' (rule of its owner)',
  pipeline: ' (rule of its pipeline)',
  setting: ' (setting jobKeepDays)',
} as const;

export function describeRetention({ keepDays, decidedBy, expiresAt }: ShownJob['retention']): string {
  const until = expiresAt === null ? '' : `, until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC`;
  return `${describeKeepDays(keepDays)}${until}${BECAUSE[decidedBy]}`;
}
