// Some actions need the password again. When the server asks for it, a dialog opens and the action is repeated.
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';

type Answer = (isGiven: boolean) => void;

let waiting: Answer | null = null;
const listeners = new Set<() => void>();

/** Thrown when the user closes the dialog without a password. */
export class NotConfirmed extends Error {
  constructor() {
    super('Cancelled — password not entered.');
  }
}

export async function withPassword<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RowmillApiError) || error.code !== 'CONFIRMATION_REQUIRED') throw error;
    if (!(await askPassword())) throw new NotConfirmed();
    return action();
  }
}

function askPassword(): Promise<boolean> {
  waiting?.(false);
  return new Promise((resolve) => {
    change(resolve);
  });
}

function change(next: Answer | null): void {
  waiting = next;
  for (const listener of listeners) listener();
}

/** Lets the dialog know that an action waits, and answers it. */
export const passwordQuestion = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  isOpen: (): boolean => waiting !== null,
  answer(isGiven: boolean): void {
    const asked = waiting;
    change(null);
    asked?.(isGiven);
  },
};
