// Decides which leases this process may hold together: any number of ordinary ones and one span of suspects, or a
// single lease alone. A request to run alone blocks later requests, so that it is granted even in a busy process.

export interface Turn {
  /** Call when the lease is settled, or when nothing was claimed. */
  end(): void;
}

/** Ordinary items, suspects that may run beside ordinary items, or a suspect that must run alone. */
export type TurnKind = 'ordinary' | 'suspects' | 'alone';

interface Waiting {
  kind: TurnKind;
  grant: () => void;
}

export class ExclusiveTurns {
  readonly #queue: Waiting[] = [];
  readonly #held: Record<TurnKind, number> = { ordinary: 0, suspects: 0, alone: 0 };
  readonly #onAlone: () => void;
  #stopped = false;

  /** `onAlone` runs when a turn alone is requested or ends. */
  constructor(onAlone: () => void = () => {}) {
    this.#onAlone = onAlone;
  }

  /** True while a lease runs alone or waits to run alone. */
  get isAlone(): boolean {
    return this.#held.alone > 0 || this.#queue.some(({ kind }) => kind === 'alone');
  }

  /** Check before `take`: suspects in the queue would block the ordinary turns behind them. */
  offers(kind: TurnKind): boolean {
    if (kind === 'ordinary') return true;
    return !this.isAlone && (kind === 'alone' || this.#held.suspects === 0);
  }

  take(kind: TurnKind): Promise<Turn> {
    return new Promise((resolve) => {
      this.#queue.push({ kind, grant: () => resolve(this.#grant(kind)) });
      this.#grantWaiting();
      if (kind === 'alone') this.#onAlone();
    });
  }

  /** Grants every turn. Callers check whether they should continue. */
  stop(): void {
    this.#stopped = true;
    this.#grantWaiting();
  }

  #grantWaiting(): void {
    for (let next = this.#queue[0]; next; next = this.#queue[0]) {
      if (!this.#isFree(next.kind) && !this.#stopped) return;
      this.#queue.shift();
      next.grant();
    }
  }

  #isFree(kind: TurnKind): boolean {
    const { ordinary, suspects, alone } = this.#held;
    if (kind === 'alone') return ordinary + suspects + alone === 0;
    return alone === 0 && (kind === 'ordinary' || suspects === 0);
  }

  #grant(kind: TurnKind): Turn {
    this.#held[kind] += 1;
    let ended = false;
    return {
      end: () => {
        if (ended) return;
        ended = true;
        this.#held[kind] -= 1;
        this.#grantWaiting();
        if (kind === 'alone') this.#onAlone();
      },
    };
  }
}
