/**
 * Shows a job's progress while it runs: a block redrawn in place on a terminal, occasional plain lines elsewhere.
 * The lines come from progress-lines.ts; this file decides when they are written and which escape codes surround
 * them. Between two frames the terminal is always in its normal state (cursor visible and below the block, line wrap
 * on), so a process that dies at any moment leaves nothing to repair.
 */
import { stripVTControlCharacters } from 'node:util';
import {
  displayWidth,
  type ProgressSnapshot,
  renderPlainLine,
  renderProgress,
  renderSummary,
} from './progress-lines.ts';

export interface ProgressDisplay {
  update(snapshot: ProgressSnapshot): void;
  /** Writes whole lines of other programs above the block, which stays in one piece. */
  print(lines: string): void;
  /** Writes the summary and ends the display; later calls do nothing. */
  finish(snapshot: ProgressSnapshot): void;
}

/** `process.stdout`, `process.stderr`, or a stream that imitates them. */
export type ProgressStream = NodeJS.WritableStream & {
  columns?: number;
  rows?: number;
  hasColors?: () => boolean;
};

export interface ProgressDisplayOptions {
  stream: ProgressStream;
  isTty: boolean;
  /** Default: the stream's `hasColors`, which in Node respects NO_COLOR, FORCE_COLOR and TERM=dumb. */
  color?: boolean;
}

const FRAME_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 2000;
const PLAIN_SUMMARY_WIDTH = 160;

export function createProgressDisplay(options: ProgressDisplayOptions): ProgressDisplay {
  if (!options.isTty) return createPlainDisplay(options.stream);
  return createTtyDisplay(options.stream, options.color ?? options.stream.hasColors?.() ?? false);
}

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const WRAP_OFF = '\x1b[?7l';
const WRAP_ON = '\x1b[?7h';
/** Terminals with synchronized updates show a frame in one step; others ignore the code. */
const BEGIN_FRAME = '\x1b[?2026h';
const END_FRAME = '\x1b[?2026l';
const ERASE_TO_LINE_END = '\x1b[K';
const ERASE_BELOW = '\x1b[J';

function createTtyDisplay(stream: ProgressStream, color: boolean): ProgressDisplay {
  let latest: ProgressSnapshot | undefined;
  let finished = false;
  let drawnLineWidths: number[] = [];

  // One turn later, so that after a stop and a continue the signal is handled before the overdue frame is drawn.
  const frames = limitRate(FRAME_INTERVAL_MS, () => {
    setImmediate(drawFrame);
    return true;
  });
  // After a stop and a continue, lines of the shell are below the old block, so start a new one.
  const onContinue = () => {
    drawnLineWidths = [];
    frames.request();
  };
  stream.on('resize', frames.request);
  process.on('SIGCONT', onContinue);

  function drawFrame(): void {
    if (finished || !latest) return;
    // The cursor rests on the line below the block, hence one line less than the screen has.
    const maxLines = Math.max(1, (stream.rows || 24) - 1);
    draw(renderProgress(latest, usableWidth(stream, 79), { color }).slice(0, maxLines));
  }

  /**
   * Most terminals reflow lines when they become narrower, so the old block may now take more rows than it has
   * lines. Lines are overwritten rather than erased first, which is what keeps the block from flickering.
   */
  function draw(lines: readonly string[]): void {
    const toTop = climb();
    const body = lines.map((line) => `${line}${ERASE_TO_LINE_END}\r\n`).join('');
    stream.write(
      BEGIN_FRAME + HIDE_CURSOR + WRAP_OFF + toTop + body + ERASE_BELOW + WRAP_ON + SHOW_CURSOR + END_FRAME,
    );
    drawnLineWidths = lines.map((line) => displayWidth(stripVTControlCharacters(line)));
  }

  /** Moves the cursor to the first row of the block. */
  function climb(): string {
    const columns = Math.max(1, stream.columns || 80);
    const rowsUp = drawnLineWidths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return rowsUp > 0 ? `\r\x1b[${rowsUp}A` : '\r';
  }

  return {
    update(snapshot) {
      if (finished) return;
      latest = snapshot;
      frames.request();
    },
    print(lines) {
      stream.write((finished ? '' : climb() + ERASE_BELOW) + lines.replaceAll('\n', '\r\n'));
      drawnLineWidths = [];
      drawFrame();
    },
    finish(snapshot) {
      if (finished) return;
      finished = true;
      frames.stop();
      stream.removeListener('resize', frames.request);
      process.removeListener('SIGCONT', onContinue);
      draw(renderSummary(snapshot, usableWidth(stream, 79), { color }));
    },
  };
}

/**
 * The last column stays empty: terminals disagree about the cursor position after a character there. A terminal
 * without a known size reports 0 or undefined, as pipes do.
 */
function usableWidth({ columns }: ProgressStream, otherwise: number): number {
  return columns ? Math.max(1, columns - 1) : otherwise;
}

/** For pipes, and for terminals that cannot redraw. */
function createPlainDisplay(stream: ProgressStream): ProgressDisplay {
  let latest: ProgressSnapshot | undefined;
  let finished = false;
  let printed: { state: string; facts: string } | undefined;

  const lines = limitRate(PLAIN_INTERVAL_MS, () => {
    if (!latest) return false;
    const facts = changingFacts(latest);
    if (facts === printed?.facts) return false;
    printed = { state: latest.state, facts };
    stream.write(`${renderPlainLine(latest, usableWidth(stream, Number.POSITIVE_INFINITY))}\n`);
    return true;
  });

  return {
    update(snapshot) {
      if (finished) return;
      latest = snapshot;
      if (snapshot.state !== printed?.state) lines.actNow();
      else lines.request();
    },
    print: (text) => void stream.write(text),
    finish(snapshot) {
      if (finished) return;
      finished = true;
      lines.stop();
      const width = usableWidth(stream, PLAIN_SUMMARY_WIDTH);
      stream.write(`${renderSummary(snapshot, width, { color: false }).join('\n')}\n`);
    },
  };
}

/** The values whose change is worth a new line. The clock and estimates that depend on it are not among them. */
function changingFacts({
  state,
  total,
  ingested,
  counts,
  unfinished: { retry, rateLimit },
  workers,
  notice,
}: ProgressSnapshot): string {
  return JSON.stringify([state, total, ingested, counts, retry, rateLimit, workers, notice]);
}

/**
 * Acts immediately if the last act is at least one interval ago, otherwise once at the end of the interval. The timer
 * does not keep the process alive.
 */
function limitRate(intervalMs: number, act: () => boolean) {
  let timer: NodeJS.Timeout | undefined;
  let requested = false;
  let stopped = false;

  function actNow(): void {
    clearTimeout(timer);
    timer = undefined;
    requested = false;
    if (stopped || !act()) return;
    timer = setTimeout(() => {
      timer = undefined;
      if (requested) actNow();
    }, intervalMs);
    timer.unref();
  }
  function request(): void {
    if (timer) requested = true;
    else actNow();
  }
  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }
  return { request, actNow, stop };
}
