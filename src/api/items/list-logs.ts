// GET /api/jobs/:jobId/logs: log lines of a job, in the order in which the outcomes of their attempts were stored.
import type { z } from 'zod';
import type { traceRoutes } from '../../contract/traces.ts';
import type { jobLogLine } from '../../contract/logs.ts';
import type { LineLevel } from '../../core/items/log-lines.ts';
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';
import type { Executor } from '../../platform/database.ts';
import { type LoggedBlock, logsPage } from '../../store/views/items/logs-page.ts';
import { parseTrace } from '../../store/views/items/stored-trace.ts';
import type { Handler } from '../requests/handler.ts';
import { asJson } from '../requests/wire-values.ts';

type ShownLine = z.infer<typeof jobLogLine>;

export interface LogsQuery {
  /** Lines of this level and above. */
  level: LineLevel;
  /** Leaves out lines that may be stored before others that are not stored yet; `next` is never null. */
  follow?: boolean | undefined;
  limit: number;
  cursor?: string | undefined;
}

const RANK: Record<LineLevel, number> = { info: 0, warn: 1, error: 2 };

export const listLogs: Handler<typeof traceRoutes.listLogs> = ({ job, query }, { reads }) =>
  readLogs(reads, job, query);

/** A page has up to `limit` lines. It may have fewer, or none, and still have a next page. */
export async function readLogs(
  db: Executor,
  { jobId, phases }: { jobId: string; phases: readonly string[] },
  { level, follow = false, limit, cursor: after }: LogsQuery,
): Promise<{ items: ShownLine[]; next: string | null }> {
  const cursor = {
    list: `logs ${jobId}`,
    sort: 'stored',
    key: ['seq', 'seq', 'seq'],
  } as const satisfies CursorKind;
  // A block, and the number of its lines that were read.
  let [storedIn, blockId, read] = after === undefined ? [0, 0, 0] : decodeCursor(cursor, after);
  const { blocks, hasMore } = await logsPage(db, jobId, { storedIn, blockId }, follow);
  const items: ShownLine[] = [];
  for (const block of blocks) {
    const isStarted = block.storedIn === storedIn && block.blockId === blockId;
    const skipped = isStarted ? read : 0;
    [storedIn, blockId, read] = [block.storedIn, block.blockId, 0];
    for (const line of linesOf(block, phases)) {
      read += 1;
      if (read <= skipped || RANK[line.level] < RANK[level]) continue;
      items.push(line);
      if (items.length === limit) return { items, next: encodeCursor(cursor, [storedIn, blockId, read]) };
    }
  }
  const next = hasMore || follow ? encodeCursor(cursor, [storedIn, blockId, read]) : null;
  return { items, next };
}

function* linesOf(block: LoggedBlock, phases: readonly string[]): Generator<ShownLine> {
  const { generation, phase, storedAt } = block;
  for (const text of block.traces.split('\n')) {
    const { seq, attempt, agoMs, log = [] } = parseTrace(text);
    const startedMs = storedAt.getTime() - agoMs;
    for (const { atMs, level, message, fields } of log)
      yield {
        seq,
        generation,
        phase,
        phaseName: phases[phase] ?? null,
        attempt,
        at: new Date(startedMs + atMs).toISOString(),
        level,
        message,
        fields: asJson(fields),
      };
  }
}
