// Asks on a terminal before a change that cannot be undone.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { ask, isAtTerminal } from './ask.ts';

export interface ConfirmOptions {
  /** Commander's --yes. */
  yes?: boolean;
}

/** Throws unless the user confirms. Without a terminal, --yes is needed. `consequence` is a sentence. */
export async function confirm(question: string, consequence: string, { yes }: ConfirmOptions): Promise<void> {
  if (yes) return;
  if (!canAsk())
    throw new RowmillError(
      'NOT_CONFIRMED',
      `expected --yes, because there is no terminal to ask: ${question}`,
      {
        hint: `Add --yes. ${consequence}`,
      },
    );
  const answer = await ask(`${consequence}\n${question} [y/N] `).catch(() => '');
  if (/^y(es)?$/i.test(answer)) return;
  throw new RowmillError('NOT_CONFIRMED', 'nothing was changed');
}

export function canAsk(): boolean {
  return isAtTerminal() && process.stderr.isTTY === true;
}
