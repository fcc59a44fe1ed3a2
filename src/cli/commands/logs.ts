// rowmill logs <job> [row]: log lines of the handlers of a job, or the attempts of one row with their lines.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { LineLevel } from '../../core/items/log-lines.ts';
import { isFinished } from '../../core/jobs/job-state.ts';
import { waitMs } from '../../platform/clock.ts';
import { EXIT } from '../exit-codes.ts';
import {
  attemptLine,
  type LoggedLine,
  lineJson,
  linesOfAttempt,
  lineText,
  thrownLine,
} from '../log-text-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { JobPort, ShownJob } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { listenForStop } from '../stop-signals.ts';
import { noSuchRow } from '../try/choose-row.ts';
import { fetchLine, stackLines } from '../try/trace-lines.ts';

export interface LogsOptions extends TargetOptions {
  follow?: boolean;
  level?: LineLevel;
  limit?: number;
  json?: boolean;
}

const MAX_PAGE = 200;
const POLL_MS = 500;

export async function showLogs(
  prefix: string,
  row: number | undefined,
  options: LogsOptions,
): Promise<number> {
  if (row !== undefined && options.follow)
    throw new RowmillError('SETTINGS_INVALID', 'expected --follow without a row', {
      hint: 'Follow the job, or show the row when it is finished.',
    });
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    if (row !== undefined) return showRow(port, job, row, options);
    return options.follow ? followLogs(port, job, options) : listFirst(port, job, options);
  });
}

async function showRow(
  port: JobPort,
  { jobId, itemCount }: ShownJob,
  row: number,
  { level = 'info', json = false }: LogsOptions,
): Promise<number> {
  if (row > itemCount) throw noSuchRow(jobId, row, itemCount);
  const { attempts, costUnit } = await port.trace(jobId, row - 1);
  for (const attempt of attempts) {
    if (!json) console.log(attemptLine(attempt, costUnit));
    for (const line of linesOfAttempt(row - 1, attempt, level)) print(line, json, true);
    if (!json) for (const fetched of attempt.fetches) console.log(fetchLine(fetched));
    const thrown = thrownLine(attempt);
    if (!json && thrown !== null) console.log(thrown);
    if (!json && attempt.thrown) for (const line of stackLines(attempt.thrown)) console.log(line);
  }
  if (!json && attempts.length === 0) console.log(`Row ${row} has no attempt that is stored`);
  return EXIT.ok;
}

async function listFirst(
  port: JobPort,
  { jobId }: ShownJob,
  { level = 'info', limit = 1000, json = false }: LogsOptions,
): Promise<number> {
  let left = limit;
  let cursor: string | undefined;
  for (;;) {
    const { items, next } = await port.logs(jobId, { level, limit: Math.min(left, MAX_PAGE), cursor });
    for (const line of items) print(line, json);
    left -= items.length;
    if (next === null || left <= 0) {
      if (!json && left === limit) console.log('No log lines');
      if (!json && next !== null) console.error(`First ${limit} lines. Use --limit to see more.`);
      return EXIT.ok;
    }
    cursor = next;
  }
}

/** Prints all lines, then new ones until the job finishes. */
async function followLogs(
  port: JobPort,
  { jobId }: ShownJob,
  { level = 'info', json = false }: LogsOptions,
): Promise<number> {
  const stop = listenForStop(
    () => {},
    () => {},
  );
  let cursor: string | undefined;
  let isUnreachable = false;
  /** Returns true if more lines may be stored already. */
  const showPage = async (follow: boolean): Promise<boolean> => {
    const { items, next } = await port.logs(jobId, { level, limit: MAX_PAGE, cursor, follow });
    for (const line of items) print(line, json);
    cursor = next ?? cursor;
    return follow ? items.length > 0 : next !== null;
  };
  try {
    while (!stop.signal.aborted) {
      try {
        // Read before the page: all lines of a finished job are stored, and their transactions have ended.
        const isOver = isFinished((await port.job(jobId)).state);
        const hasMore = await showPage(!isOver);
        isUnreachable = false;
        if (isOver && !hasMore) return EXIT.ok;
        if (!hasMore) await waitMs(POLL_MS, stop.signal);
      } catch (error) {
        if (!port.isPassing(error)) throw error;
        if (!isUnreachable) console.error(`Waiting for the ${port.description}: ${(error as Error).message}`);
        isUnreachable = true;
        await waitMs(POLL_MS, stop.signal);
      }
    }
    return EXIT.stopped;
  } finally {
    stop.dispose();
  }
}

function print(line: LoggedLine, json: boolean, isOfRow = false): void {
  console.log(json ? lineJson(line) : lineText(line, isOfRow));
}
