// Handlers that answer at once, or block, follow each other without the event loop ever turning, and meanwhile no flush or
// claim gets on and the watchdog hears nothing: with 2,000 in a row a drain took twice as long as with a turn every 100.
import { monotonicMs } from '../../platform/clock.ts';

const STARTS_PER_TURN = 100;
const TURN_MS = 10;

export class LoopTurns {
  readonly #onTurn: () => void;
  #started = 0;
  #beganMs = 0;
  #isYielding = false;

  /** `onTurn`: the next turn has begun, in which more may be started. */
  constructor(onTurn: () => void) {
    this.#onTurn = onTurn;
  }

  /** Waits for the next turn. */
  get isYielding(): boolean {
    return this.#isYielding;
  }

  /** False when this turn has had enough: then it yields. */
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
