// The session can end while the page is open: overnight, by a new password, or in another tab. Whoever meets that says so
// here; the page asks for the password, and goes on where it was.

const listeners = new Set<() => void>();
let hasEnded = false;
let waiting: (() => void)[] = [];

function change(next: boolean): void {
  if (hasEnded === next) return;
  hasEnded = next;
  for (const listener of listeners) listener();
}

export const sessionEnd = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isKnown: (): boolean => hasEnded,
  notice: (): void => change(true),
  /** Nobody signed in now; the next request that is refused asks again. */
  putOff: (): void => change(false),
  signedIn(): void {
    change(false);
    const told = waiting;
    waiting = [];
    for (const each of told) each();
  },
  /** Settles when somebody has signed in again. */
  over: (): Promise<void> => new Promise((resolve) => waiting.push(resolve)),
};
