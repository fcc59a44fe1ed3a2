// Who may hold a lease in this process: any number of ordinary ones at a time, or one alone. A turn asked for alone
// keeps later ones waiting, so that it comes even in a busy process.

export interface Turn {
  /** Once the lease is gone, or nothing was claimed. */
  end(): void;
}

interface Waiting {
  alone: boolean;
  grant: () => void;
}

export class ExclusiveTurns {
  readonly #queue: Waiting[] = [];
  #held = 0;
  #heldAlone = false;
  #stopped = false;

  take(): Promise<Turn> {
    return this.#ask(false);
  }

  takeAlone(): Promise<Turn> {
    return this.#ask(true);
  }

  /** Lets everybody through: the caller looks for itself whether it should go on. */
  stop(): void {
    this.#stopped = true;
    this.#grantWaiting();
  }

  #ask(alone: boolean): Promise<Turn> {
    return new Promise((resolve) => {
      this.#queue.push({ alone, grant: () => resolve(this.#grant(alone)) });
      this.#grantWaiting();
    });
  }

  #grantWaiting(): void {
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      const free = next.alone ? this.#held === 0 : !this.#heldAlone;
      if (!free && !this.#stopped) return;
      this.#queue.shift();
      next.grant();
    }
  }

  #grant(alone: boolean): Turn {
    this.#held += 1;
    this.#heldAlone = alone;
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        this.#held -= 1;
        if (alone) this.#heldAlone = false;
        this.#grantWaiting();
      },
    };
  }
}
