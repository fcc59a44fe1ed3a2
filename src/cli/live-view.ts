// Shows something that changes until it is over or the command is stopped. On a terminal it is redrawn in place; elsewhere
// each line is printed when it appears or changes.
import { waitMs } from '../platform/clock.ts';
import { isDumbTerminal } from '../platform/environment.ts';
import { listenForStop } from './stop-signals.ts';
import { cutToWidth } from './text-table.ts';

export interface View {
  lines: readonly string[];
  /** True if nothing will change any more. */
  isOver: boolean;
}

/** The part of `process.stdout` that this file uses. */
export interface ViewStream {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

const EVERY_MS = 1000;
const ERASE_LINE = '\x1b[K';
const ERASE_BELOW = '\x1b[J';

/** `json`: lines are for programs, and are printed when they change even on a terminal. */
export async function showUntilOver(look: () => Promise<View>, json: boolean): Promise<void> {
  const stop = listenForStop(
    () => {},
    () => {},
  );
  const show = viewOn(process.stdout, process.stdout.isTTY === true && !json && !isDumbTerminal());
  try {
    for (;;) {
      const { lines, isOver } = await look();
      show(lines);
      if (isOver || stop.signal.aborted) return;
      await waitMs(EVERY_MS, stop.signal);
      if (stop.signal.aborted) return;
    }
  } finally {
    stop.dispose();
  }
}

export function viewOn(stream: ViewStream, inPlace: boolean): (lines: readonly string[]) => void {
  return inPlace ? redrawn(stream) : changesOnly(stream);
}

function redrawn(stream: ViewStream): (lines: readonly string[]) => void {
  let drawn = 0;
  return (lines) => {
    // One line less than the screen has, because the cursor rests below the last one.
    const shown = lines.slice(0, Math.max(1, (stream.rows || 24) - 1));
    const body = shown.map((line) => `${cutToWidth(line, stream.columns || 80)}${ERASE_LINE}\n`);
    stream.write(`${drawn > 0 ? `\x1b[${drawn}A` : ''}${body.join('')}${ERASE_BELOW}`);
    drawn = shown.length;
  };
}

function changesOnly(stream: ViewStream): (lines: readonly string[]) => void {
  let before = new Set<string>();
  return (lines) => {
    for (const line of lines) if (!before.has(line)) stream.write(`${line}\n`);
    before = new Set(lines);
  };
}
