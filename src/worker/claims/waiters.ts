// Callers that wait until something may be worth another look.

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
