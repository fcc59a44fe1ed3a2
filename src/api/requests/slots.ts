// Counts what each caller has in flight in this process, up to a maximum.

export class Slots {
  readonly #taken = new Map<string, number>();

  /** Returns an idempotent function that releases the slot; null if all slots are taken. */
  take(who: string, max: number): (() => void) | null {
    const taken = this.#taken.get(who) ?? 0;
    if (taken >= max) return null;
    this.#taken.set(who, taken + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = this.#taken.get(who)! - 1;
      if (left > 0) this.#taken.set(who, left);
      else this.#taken.delete(who);
    };
  }
}
