// The session can expire while the page is open: overnight, after a password change, or by signing out in another tab.
// A request that notices it reports it here; the page asks for the password and continues.

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
  /** The user closed the dialog; the next refused request opens it again. */
  putOff: (): void => change(false),
  signedIn(): void {
    change(false);
    const told = waiting;
    waiting = [];
    for (const each of told) each();
  },
  /** Resolves when the user has signed in again. */
  over: (): Promise<void> => new Promise((resolve) => waiting.push(resolve)),
};
