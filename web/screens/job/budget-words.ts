// Amounts as they are typed, and what a budget means for money that is still to be spent.
import { formatCost } from '../../lib/format.ts';

/** Null: nothing was typed. Undefined: it is no amount. */
export function amountIn(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  // 0x10 and 1e3 are numbers to programs only.
  return /^(?:\d+(?:[.,]\d*)?|[.,]\d+)$/.test(trimmed) ? Number(trimmed.replace(',', '.')) : undefined;
}

/** Null: there is nothing to say about something that is no amount. */
export function budgetWords(max: number | null | undefined, spent: number): string | null {
  if (max === undefined) return null;
  if (max === null) return 'Nothing limits what the job may cost from now on.';
  if (max <= spent)
    return `Not more than the ${formatCost(spent)} that was spent: the job pauses before its next call.`;
  return `Up to ${formatCost(max - spent)} more may be spent.`;
}
