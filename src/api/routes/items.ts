// Rows of a job: pages, one row with its history, error groups, rates over time, and unfinished rows.
import type { errorRoutes } from '../../contract/error-groups.ts';
import type { itemRoutes } from '../../contract/items.ts';
import type { runRoutes } from '../../contract/runs.ts';
import type { traceRoutes } from '../../contract/traces.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { rejectedPage } from '../../store/views/items/rejected-page.ts';
import { type ActivityRow, jobActivityPage } from '../../store/views/jobs/job-activity-page.ts';
import { listGenerations } from '../../store/views/jobs/list-generations.ts';
import { cutPage } from '../answers/cut-page.ts';
import { getItem } from '../items/get-item.ts';
import { getItemTrace } from '../items/get-item-trace.ts';
import { listErrors } from '../jobs/list-errors.ts';
import { compareRunsOfJob } from '../jobs/compare-runs.ts';
import { listItemsOfJob } from '../items/list-items-of-job.ts';
import { listLogs } from '../items/list-logs.ts';
import { listTree } from '../items/list-tree.ts';
import { sendItemImage } from '../items/send-item-image.ts';
import { getTimeline } from '../jobs/get-timeline.ts';
import { pendingHandlers } from '../jobs/list-pending.ts';
import type { Handlers } from '../requests/handler.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';

export const itemHandlers: Handlers<
  typeof itemRoutes & typeof traceRoutes & typeof errorRoutes & typeof runRoutes
> = {
  listItems: listItemsOfJob,
  getItem,
  getItemTrace,
  listLogs,
  getItemImage: sendItemImage,
  listTree,
  listErrors,
  getTimeline,
  listGenerations: async ({ job }, { reads }) => {
    const generations = await listGenerations(reads, job.jobId);
    return {
      items: generations.map((each) => ({
        ...each,
        selection: asJson(each.selection),
        diff: each.diff && { ...each.diff },
        openedAt: each.openedAt.toISOString(),
        finishedAt: timeOrNull(each.finishedAt),
      })),
    };
  },
  compareRuns: compareRunsOfJob,
  listRejected: async ({ job, query }, { reads }) => {
    const cursor = {
      list: `rejected ${job.jobId}`,
      sort: 'line',
      key: ['seq'],
    } as const satisfies CursorKind;
    const after = query.cursor === undefined ? -1 : decodeCursor(cursor, query.cursor)[0];
    const rows = await rejectedPage(reads, job.jobId, after, query.limit + 1);
    const toItem = ({ line, reason, raw }: (typeof rows)[number]) => ({ line, reason, raw });
    return cutPage(rows, query.limit, toItem, cursor, ({ ordinal }) => [ordinal]);
  },
  ...pendingHandlers,
  listJobActivity: async ({ job, query }, { reads }) => {
    const cursor = {
      list: `activity ${job.jobId}`,
      sort: 'newest',
      key: ['time', 'word', 'seq'],
    } as const satisfies CursorKind;
    const after = query.cursor === undefined ? null : decodeCursor(cursor, query.cursor);
    const rows = await jobActivityPage(reads, job.jobId, after, query.limit + 1);
    const toItem = ({ at, kind, actor, action, detail }: ActivityRow) => ({
      at: at.toISOString(),
      kind,
      actor,
      action,
      detail: asJson(detail),
    });
    return cutPage(rows, query.limit, toItem, cursor, (last) => [last.cursor_time, last.kind, last.number]);
  },
};
