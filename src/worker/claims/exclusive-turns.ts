// Decides which leases this process may hold at once: any number of ordinary ones, one span of suspects among them, or one
// lease with nothing beside it. A turn asked for alone keeps later ones waiting, so that it comes even in a busy process.

export interface Turn {
  /** Once the lease is gone, or nothing was claimed. */
  end(): void;
}

/** What is claimed: ordinary items, suspects that may have others beside them, or one that must run alone. */
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

  /** `onAlone`: a turn alone was asked for, or ended. */
  constructor(onAlone: () => void = () => {}) {
    this.#onAlone = onAlone;
  }

  /** A lease has, or waits for, a process of its own. */
  get isAlone(): boolean {
    return this.#held.alone > 0 || this.#queue.some(({ kind }) => kind === 'alone');
  }

  /** Ask before `take`: suspects that waited for their turn would keep ordinary work behind them. */
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

  /** Grants every turn: the callers check for themselves whether they should continue. */
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
