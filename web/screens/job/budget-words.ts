// Parses typed amounts, and describes the effect of a budget.
import { formatCost } from '../../../src/core/limits/format-cost.ts';

/** Null: empty. Undefined: not an amount. */
export function amountIn(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  // Rejects 0x10 and 1e3, which Number() accepts.
  return /^(?:\d+(?:[.,]\d*)?|[.,]\d+)$/.test(trimmed) ? Number(trimmed.replace(',', '.')) : undefined;
}

/** Null: not an amount. */
export function budgetWords(
  max: number | null | undefined,
  spent: number,
  costUnit: string | null = null,
): string | null {
  if (max === undefined) return null;
  if (max === null) return 'No spending limit.';
  if (max <= spent)
    return `This is not above the ${formatCost(spent, costUnit)} already spent, so the job will stay paused.`;
  return `Allows ${formatCost(max - spent, costUnit)} more.`;
}
