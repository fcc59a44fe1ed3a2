// A list of waiting callers that are woken when it may be worth checking again.

export class Waiters {
  readonly #waiting: (() => void)[] = [];

  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  wakeOne(): void {
    this.#waiting.shift()?.();
  }

  wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
