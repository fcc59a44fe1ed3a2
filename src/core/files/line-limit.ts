// Limits repeated log lines: a few lines of each kind per time window. The next line reports how many were left out.

const WINDOW_MS = 10_000;
const LINES_PER_WINDOW = 10;

interface Window {
  startedMs: number;
  lines: number;
  omitted: number;
}

export class LineLimit {
  readonly #windows = new Map<string, Window>();

  /** Number of lines of this kind omitted before this one; null: omit this one too. Kinds must be few and constant. */
  take(kind: string, nowMs: number): number | null {
    const window = this.#windows.get(kind);
    if (!window || nowMs - window.startedMs >= WINDOW_MS) {
      this.#windows.set(kind, { startedMs: nowMs, lines: 1, omitted: 0 });
      return window?.omitted ?? 0;
    }
    if (window.lines >= LINES_PER_WINDOW) {
      window.omitted += 1;
      return null;
    }
    window.lines += 1;
    return 0;
  }
}
