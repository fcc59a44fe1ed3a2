// Unfinished rows of one job, or of all jobs of the caller.
import type { z } from 'zod';
import type { itemRoutes, pendingItem } from '../../contract/items.ts';
import { rowNumber } from '../../contract/row-number.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Settings } from '../../platform/settings.ts';
import { type PendingRequest, type PendingRow, pendingPage } from '../../store/views/spans/pending-page.ts';
import { listedFor } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';
import { cutPage } from '../answers/cut-page.ts';
import type { Handlers } from '../requests/handler.ts';
import { boundedTimeMs, timeOrNull } from '../requests/wire-values.ts';

/** Time after the deadline of a transaction until PostgreSQL has surely ended it too. */
const MARGIN_MS = 15_000;

export const pendingHandlers: Handlers<Pick<typeof itemRoutes, 'listPendingOfJob' | 'listPending'>> = {
  listPendingOfJob: ({ job, query }, context) =>
    answerPage(context, `pending ${job.jobId}`, query, { owners: null, jobId: job.jobId, pipeline: null }),
  listPending: async ({ actor, query }, context) => {
    if (context.engine.settings.pendingDashboard !== 'on')
      throw new RowmillError('FEATURE_DISABLED', 'expected the setting pendingDashboard to be on');
    const owners = listedFor(actor, query.userId === 'all');
    const { jobId = null, jobType = null } = query;
    return answerPage(context, 'pending', query, { owners, jobId, pipeline: jobType });
  },
};

/** Age of a change at which no open transaction can still commit an older one. */
export function settledAfterMs({ databaseDeadlineMs }: Pick<Settings, 'databaseDeadlineMs'>): number {
  return databaseDeadlineMs + MARGIN_MS;
}

interface PendingQuery {
  statuses?: string[] | undefined;
  from?: string | undefined;
  to?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}

async function answerPage(
  { reads, engine: { settings } }: ApiContext,
  list: string,
  query: PendingQuery,
  jobs: Pick<PendingRequest, 'owners' | 'jobId' | 'pipeline'>,
): Promise<{ items: z.infer<typeof pendingItem>[]; next: string | null }> {
  const cursor = {
    list,
    sort: 'updated',
    key: ['time', 'time', 'uuid', 'seq'],
  } as const satisfies CursorKind;
  const after = query.cursor === undefined ? null : decodeCursor(cursor, query.cursor);
  const rows = await pendingPage(reads, {
    ...jobs,
    statuses: query.statuses ?? null,
    from: boundedTime(query.from),
    to: boundedTime(query.to),
    settledAfterMs: settledAfterMs(settings),
    after: after && { settled: after[0], place: after[1], jobId: after[2], seq: after[3] },
    limit: query.limit + 1,
  });
  return cutPage(rows, query.limit, toPendingItem, cursor, ({ settled, place, jobId, seq }) => [
    settled,
    place,
    jobId,
    seq,
  ]);
}

function boundedTime(text: string | undefined): string | null {
  return text === undefined ? null : new Date(boundedTimeMs(text)).toISOString();
}

function toPendingItem({
  settled: _,
  place: __,
  readyAt,
  updatedAt,
  ...row
}: PendingRow): z.infer<typeof pendingItem> {
  return {
    ...row,
    row: rowNumber(row.seq),
    readyAt: timeOrNull(readyAt),
    updatedAt: updatedAt.toISOString(),
  };
}
