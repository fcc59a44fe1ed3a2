// Yields to the event loop between starts. Handlers that return synchronously, or block, would otherwise run back to
// back while flushes, claims and the watchdog starve: at 2,000 in a row, a drain took twice as long as at 100.
import { monotonicMs } from '../../platform/clock.ts';

const STARTS_PER_TURN = 100;
const TURN_MS = 10;

export class LoopTurns {
  readonly #onTurn: () => void;
  #started = 0;
  #beganMs = 0;
  #isYielding = false;

  /** `onTurn` runs at the start of the next turn, when more may be started. */
  constructor(onTurn: () => void) {
    this.#onTurn = onTurn;
  }

  /** True while waiting for the next turn. */
  get isYielding(): boolean {
    return this.#isYielding;
  }

  /** True if one more call may start in this turn. Otherwise yields and returns false. */
  take(nowMs: number): boolean {
    if (this.#started < STARTS_PER_TURN && nowMs - this.#beganMs <= TURN_MS) {
      this.#started += 1;
      return true;
    }
    this.yield();
    return false;
  }

  yield(): void {
    if (this.#isYielding) return;
    this.#isYielding = true;
    setImmediate(() => {
      this.#isYielding = false;
      this.#started = 0;
      this.#beganMs = monotonicMs();
      this.#onTurn();
    });
  }
}
