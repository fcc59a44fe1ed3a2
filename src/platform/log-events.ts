// Logs engine events, the same in every process: worker, server, `run`, programs that embed a worker. The table gives
// each event its level and log message, or null if it is not logged; an event without an entry does not compile.
// Lifecycle events are at info, frequent work at debug, and events that need an operator's attention at warn. No line
// contains inputs, results or error texts of handlers.
import { LineLimit } from '../core/files/line-limit.ts';
import { monotonicMs } from './clock.ts';
import { databaseErrorText } from './database-error.ts';
import type { EventName, Events, RowmillEvents } from './events.ts';
import type { Logger } from './logger.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';
type Line = [level: Level, message: string];
type LineOf<Name extends EventName> = Line | null | ((detail: RowmillEvents[Name]) => Line | null);

const LINES: { [Name in EventName]: LineOf<Name> } = {
  'job.created': ['info', 'job created'],
  'job.sealed': ['info', 'job sealed'],
  'job.started': ['info', 'job started'],
  'job.paused': ['info', 'job paused'],
  'job.resumed': ['info', 'job resumed'],
  'job.cancelling': ['info', 'job cancelled'],
  'job.reopened': ['info', 'job reprocessed'],
  'job.finished': ['info', 'job finished'],
  'job.failed': ['warn', 'job failed'],
  'job.deleted': ['info', 'job deleted'],
  'worker.started': ['info', 'worker started'],
  'worker.stopped': ['info', 'worker stopped'],
  'worker.unpersisted': ['error', 'outcomes not persisted'],
  'items.added': ['debug', 'items stored'],
  'items.retrying': ['debug', 'retries scheduled'],
  'ingest.batch': ['debug', 'ingest batch stored'],
  'claim.made': ['debug', 'items claimed'],
  'claim.failed': ['warn', 'claim failed'],
  'flush.committed': ['debug', 'flush committed'],
  'flush.rolled_back': ['warn', 'flush rolled back'],
  'flush.split': ['warn', 'flush split'],
  'flush.fenced': ['warn', 'outcomes fenced'],
  'buffer.changed': ({ from, to }) =>
    to === 'full' || from === 'calm' ? ['warn', 'buffer filling up'] : ['info', 'buffer draining'],
  'counters.counted': null,
  'counters.folded': null,
  'counters.drifted': ['warn', 'counters drifted'],
  'lease.lost': ['warn', 'lease lost'],
  'lease.rescued': ['warn', 'lease rescued'],
  'loop.stuck': ['warn', 'event loop stuck'],
  // ZombieWatch logs them.
  'handlers.stuck': null,
  'finalize.delayed': ['warn', 'output files delayed'],
  'blobs.collected': ['debug', 'blobs collected'],
  'pressure.changed': ({ from, to }) =>
    to < from || to === 1 ? ['info', 'worker pressure changed'] : ['debug', 'worker pressure changed'],
  'phase.spike': ['info', 'error spike changed'],
  'resource.decided': ({ kind }) => [kind === 'share' ? 'debug' : 'info', 'resource limit changed'],
  'resource.synced': null,
  'resource.sync_failed': ['warn', 'resource sync failed'],
  'budget.sync_failed': ['warn', 'budget sync failed'],
  // runCallback logs it.
  'callback.failed': null,
  'service.failed': ['warn', 'background work failed'],
  'source.file_taken': ['info', 'source file taken'],
  'source.file_failed': ['warn', 'source file failed'],
  'source.file_skipped': ['info', 'source file skipped'],
  'source.file_released': ['warn', 'source file released'],
  'source.scan_failed': ['warn', 'source scan failed'],
};

/** Workers of a process may share their events: each event is logged only once. */
const logged = new WeakSet<Events>();

/** Logs events until the returned function is called. */
export function logEvents(events: Events, log: Logger): () => void {
  if (logged.has(events)) return () => {};
  logged.add(events);
  const limit = new LineLimit();
  const write = ([level, message]: Line, detail: object): void => {
    // Debug lines are never dropped.
    const omitted = level === 'debug' ? 0 : limit.take(message, monotonicMs());
    if (omitted === null) return;
    log[level]({ ...toFields(detail), ...(omitted > 0 && { omitted }) }, message);
  };
  const subscribe = <Name extends EventName>(name: Name, line: LineOf<Name>): (() => void) =>
    events.on(name, (detail) => {
      const chosen = typeof line === 'function' ? line(detail) : line;
      if (chosen) write(chosen, detail);
    });
  const off = (Object.keys(LINES) as EventName[])
    .filter((name) => LINES[name] !== null)
    .map((name) => subscribe(name, LINES[name] as LineOf<typeof name>));
  return () => {
    logged.delete(events);
    for (const unsubscribe of off) unsubscribe();
  };
}

/** Converts errors to text and rounds times to 0.1 ms. */
function toFields(detail: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(detail).map(([key, value]) => {
      if (key === 'error') return [key, databaseErrorText(value)];
      const isTime = typeof value === 'number' && (key === 'ms' || key.endsWith('Ms'));
      return [key, isTime ? Math.round(value * 10) / 10 : value];
    }),
  );
}
