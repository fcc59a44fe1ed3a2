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
  if (max === null) return 'No spending limit.';
  if (max <= spent)
    return `This is not above the ${formatCost(spent)} already spent, so the job will stay paused.`;
  return `Allows ${formatCost(max - spent)} more.`;
}
