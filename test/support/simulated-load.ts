// Simulates a job in virtual time, in ticks, and reports its pace at any time as the database would. For tests of
// estimates: the real end of the job is known.
import type { JobPace, PhasePace } from '../../src/core/jobs/estimate-end.ts';
import { rateWindowMs } from '../../src/core/jobs/recent-rate.ts';

const TICK_MS = 100;
const LATELY_MS = 5 * 60_000;
const MOST_TICKS = 400_000;

export interface SimulatedPhase {
  slots: (atMs: number) => number;
  /** Calls that may start within a tick; default: any number. */
  starts?: (atMs: number) => number;
  callMs: (seq: number) => number;
  /** Time until the row is tried again; null: the call succeeds. */
  retryMs?: (seq: number, attempt: number) => number | null;
  /** True if the row is finished here and does not advance. */
  stops?: (seq: number) => boolean;
}

export interface SimulatedLoad {
  rows: number;
  phases: SimulatedPhase[];
  /** Rows that were read by then; default: all. */
  readBy?: (atMs: number) => number;
  isPaused?: (atMs: number) => boolean;
}

interface Moved {
  atMs: number;
  phase: number;
  kind: 'ended' | 'advanced' | 'retried';
  callMs: number;
}

export interface SimulatedPace {
  share: number;
  atMs: number;
  pace: JobPace;
}

/** The pace of the job when these shares of its rows had finished, and the time of its end. */
export function simulate(
  load: SimulatedLoad,
  shares: readonly number[],
): { endMs: number; at: SimulatedPace[] } {
  const queues = load.phases.map(() => [] as { seq: number; attempt: number; readyMs: number }[]);
  const running = load.phases.map(
    () => [] as { seq: number; attempt: number; startMs: number; endMs: number }[],
  );
  const moves: Moved[] = [];
  const at: SimulatedPace[] = [];
  let read = 0;
  let ended = 0;
  for (let tick = 1; tick < MOST_TICKS; tick += 1) {
    const atMs = tick * TICK_MS;
    const readNow = Math.min(load.rows, Math.floor(load.readBy?.(atMs) ?? load.rows));
    for (; read < readNow; read += 1) queues[0]!.push({ seq: read, attempt: 0, readyMs: 0 });
    for (const [phase, { slots, starts, callMs, retryMs, stops }] of load.phases.entries()) {
      const still: (typeof running)[number] = [];
      for (const call of running[phase]!) {
        if (call.endMs > atMs) {
          still.push(call);
          continue;
        }
        const waitMs = retryMs?.(call.seq, call.attempt) ?? null;
        const isLast = phase === load.phases.length - 1 || stops?.(call.seq) === true;
        const kind = waitMs !== null ? 'retried' : isLast ? 'ended' : 'advanced';
        moves.push({ atMs, phase, kind, callMs: call.endMs - call.startMs });
        if (kind === 'retried')
          queues[phase]!.push({ seq: call.seq, attempt: call.attempt + 1, readyMs: atMs + waitMs! });
        else if (kind === 'ended') ended += 1;
        else queues[phase + 1]!.push({ seq: call.seq, attempt: 0, readyMs: 0 });
      }
      running[phase] = still;
      if (load.isPaused?.(atMs)) continue;
      let room = Math.min(slots(atMs) - still.length, starts?.(atMs) ?? Number.MAX_SAFE_INTEGER);
      const queue = queues[phase]!;
      for (let place = 0; place < queue.length && room > 0; ) {
        const row = queue[place]!;
        if (row.readyMs > atMs) {
          place += 1;
          continue;
        }
        queue.splice(place, 1);
        room -= 1;
        still.push({ seq: row.seq, attempt: row.attempt, startMs: atMs, endMs: atMs + callMs(row.seq) });
      }
    }
    while (at.length < shares.length && ended >= shares[at.length]! * load.rows)
      at.push({ share: shares[at.length]!, atMs, pace: paceOf(load, moves, queues, running, read, atMs) });
    if (ended === load.rows) return { endMs: atMs, at };
  }
  throw new Error('the simulated job does not end');
}

function paceOf(
  load: SimulatedLoad,
  moves: readonly Moved[],
  queues: readonly { readyMs: number }[][],
  running: readonly { startMs: number }[][],
  read: number,
  atMs: number,
): JobPace {
  const windowMs = rateWindowMs(atMs);
  const within = (ms: number, phase: number): Moved[] =>
    moves.filter((move) => move.phase === phase && move.kind !== 'retried' && move.atMs > atMs - ms);
  const phases = load.phases.map((_, phase): PhasePace => {
    const own = moves.filter((move) => move.phase === phase);
    const lately = within(LATELY_MS, phase);
    const kinds = (kind: Moved['kind']): number => own.filter((move) => move.kind === kind).length;
    return {
      left: queues[phase]!.length + running[phase]!.length,
      moved: within(windowMs, phase).length,
      movedNewer: within(windowMs / 2, phase).length,
      lately: lately.length,
      latelyMs: lately[0] ? atMs - lately[0].atMs : 0,
      ended: kinds('ended'),
      advanced: kinds('advanced'),
      retried: kinds('retried'),
      handlerMs: own.reduce((sum, move) => sum + move.callMs, 0),
      retryWaitMs: Math.max(0, ...queues[phase]!.map(({ readyMs }) => readyMs - atMs)),
    };
  });
  const oldestCallMs = Math.max(0, ...running.flat().map(({ startMs }) => atMs - startMs));
  return { phases, windowMs, sealed: read === load.rows, oldestCallMs };
}
