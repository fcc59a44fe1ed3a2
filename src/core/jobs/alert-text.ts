// Events of jobs in words, for chats and mail. Job names are chosen by users, so control characters are removed.

const NAME_MAX_LENGTH = 200;

export interface AlertEvent {
  kind: string;
  jobId: string;
  /** Empty or null if it has none or was deleted. */
  jobName: string | null;
  state: string;
  detail: unknown;
}

export interface Alert {
  /** One line. */
  subject: string;
  text: string;
}

interface Detail {
  counts?: Partial<Record<string, number>>;
  reason?: string | null;
  quietMs?: number;
  rows?: number;
}

export function alertOf(event: AlertEvent, link: string): Alert {
  const name = oneLine(event.jobName || '') || `Job ${event.jobId.slice(0, 8)}`;
  const { happened, more } = describe(event);
  return { subject: `${name} ${happened}`, text: [...more, link].join('\n\n') };
}

export const TEST_ALERT: Alert = {
  subject: 'Test message from Rowmill',
  text: 'Alerts of your jobs arrive here.',
};

/** As chats that are compatible with Slack read it: three characters have a meaning there. */
export function chatText({ subject, text }: Alert): string {
  return `${subject}\n${text}`.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function describe({ kind, state, detail }: AlertEvent): { happened: string; more: string[] } {
  const { counts = {}, reason, quietMs = 0, rows = 0 } = (detail ?? {}) as Detail;
  const because = reason ? [oneLine(reason)] : [];
  switch (kind) {
    case 'job.finished': {
      const ended = state === 'CANCELLED' ? 'was cancelled' : 'is finished';
      return { happened: `${ended}: ${countWords(counts)}`, more: [] };
    }
    case 'job.failed':
      return { happened: 'failed', more: [...because, `Rows: ${countWords(counts)}.`] };
    case 'job.paused':
      return reason?.startsWith('budget')
        ? {
            happened: 'is over budget and paused',
            more: [...because, 'Raise the budget and resume the job.'],
          }
        : { happened: 'is paused', more: because };
    case 'job.stuck':
      return {
        happened: 'is stuck',
        more: [
          `No row has finished for ${durationWords(quietMs)}, although ${rowWords(rows)} could run and a worker is online.`,
        ],
      };
    default:
      return { happened: OTHER_KINDS[kind] ?? kind.replace('job.', 'is '), more: because };
  }
}

const OTHER_KINDS: Record<string, string> = {
  'job.created': 'was created',
  'job.sealed': 'has all its rows',
  'job.started': 'has started',
  'job.resumed': 'was resumed',
  'job.cancelling': 'is being cancelled',
  'job.reprocessed': 'is running again',
  'job.changed': 'was changed',
  'job.deleted': 'was deleted',
};

const STATUS_WORDS = [
  ['DONE', 'done'],
  ['NOT_FOUND', 'not found'],
  ['ERROR', 'failed'],
  ['SKIPPED', 'skipped'],
  ['CANCELLED', 'cancelled'],
] as const;

function countWords(counts: Partial<Record<string, number>>): string {
  const words = STATUS_WORDS.flatMap(([status, word]) =>
    counts[status] ? [`${counts[status].toLocaleString('en-US')} ${word}`] : [],
  );
  return words.length === 0 ? 'no rows' : words.join(', ');
}

function rowWords(rows: number): string {
  return rows === 1 ? '1 row' : `${rows.toLocaleString('en-US')} rows`;
}

function durationWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h`;
}

function oneLine(text: string): string {
  return text
    .slice(0, NAME_MAX_LENGTH)
    .replace(/\p{Cc}+/gu, ' ')
    .trim();
}
