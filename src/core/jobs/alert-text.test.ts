import { expect, test } from 'vitest';
import { alertOf, chatText } from './alert-text.ts';

const LINK = 'https://mill.example/jobs/1';
const job = { jobId: '0123456789', jobName: 'customers.csv', state: 'RUNNING', detail: {} };

test.each([
  [
    { kind: 'job.finished', state: 'DONE', detail: { counts: { DONE: 4527, NOT_FOUND: 242, ERROR: 1 } } },
    'customers.csv is finished: 4,527 done, 242 not found, 1 failed',
    LINK,
  ],
  [
    { kind: 'job.finished', state: 'CANCELLED', detail: { counts: { CANCELLED: 3 } } },
    'customers.csv was cancelled: 3 cancelled',
    LINK,
  ],
  [
    { kind: 'job.failed', detail: { reason: 'the file cannot be read', counts: {} } },
    'customers.csv failed',
    `the file cannot be read\n\nRows: no rows.\n\n${LINK}`,
  ],
  [
    { kind: 'job.paused', detail: { reason: 'budget of 5 reached: 4.98 spent' } },
    'customers.csv is over budget and paused',
    `budget of 5 reached: 4.98 spent\n\nRaise the budget and resume the job.\n\n${LINK}`,
  ],
  [{ kind: 'job.paused', detail: null }, 'customers.csv is paused', LINK],
  [
    { kind: 'job.stuck', detail: { quietMs: 960_000, rows: 1200 } },
    'customers.csv is stuck',
    `No row has finished for 16 min, although 1,200 rows could run and a worker is online.\n\n${LINK}`,
  ],
  [{ kind: 'job.resumed' }, 'customers.csv was resumed', LINK],
])('%j in words', (event, subject, text) => {
  expect(alertOf({ ...job, ...event }, LINK)).toEqual({ subject, text });
});

test('a subject is one line, whatever the name of the job, and a job without a name has its id', () => {
  const paused = { ...job, kind: 'job.paused' };
  expect(alertOf({ ...paused, jobName: 'a\r\nBcc: eve@example.org' }, LINK).subject).toBe(
    'a Bcc: eve@example.org is paused',
  );
  expect(alertOf({ ...paused, jobName: null }, LINK).subject).toBe('Job 01234567 is paused');
});

test('a name cannot add links or mentions to a chat', () => {
  const alert = alertOf(
    { ...job, kind: 'job.paused', jobName: '<!channel> & <https://evil.example|x>' },
    LINK,
  );
  expect(chatText(alert)).toBe(`&lt;!channel&gt; &amp; &lt;https://evil.example|x&gt; is paused\n${LINK}`);
});
