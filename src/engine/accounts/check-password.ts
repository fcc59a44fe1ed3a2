// Refuses passwords that are too easy to guess.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { weakPasswordBecause } from '../../core/accounts/weak-password.ts';

export function checkPassword(password: string, userId: string): void {
  const because = weakPasswordBecause(password, userId);
  if (because !== null) throw new RowmillError('PASSWORD_WEAK', because);
}
